#include <algorithm>

#include "planner/stats.h"
#include "runtime/base/check.h"
#include "runtime/base/report_text.h"

namespace tessera {
namespace {

using internal::Counted;
using internal::Gib;

constexpr size_t kShownRanks = 64, kTablesOfSummary = 200;

using Row = std::vector<std::string>;

std::string Aligned(const std::vector<Row>& rows) { return internal::TextTable(rows, "  "); }

std::string Ms(double ms) { return Format("{:.4g}", ms); }
std::string Mib(int64_t bytes) { return Format("{:.2f}", static_cast<double>(bytes) / 1048576.0); }

Row TableRow(const PlannerModel& model, const PlacedOption& placed) {
  const ShardingOption& o = placed.option;
  const PlannerTable& table = model.tables[static_cast<size_t>(o.table)];
  const Storage sum = o.total_storage();
  return {model.full_name(table),
          Format("{} × {}", table.planned_rows(), table.planned_dim()),
          ToString(o.type),
          ToString(o.kernel) + (IsCached(o.kernel) && o.cache_load_factor
                                    ? Format(" {:.3g}", *o.cache_load_factor)
                                    : ""),
          Format("{}", o.num_shards()),
          Ms(o.max_perf()),
          Ms(o.total_perf()),
          Gib(sum.hbm),
          Gib(sum.ddr),
          RanksText(placed.ranks)};
}

std::string TablesText(const PlannerModel& model, const PlanResult& plan) {
  std::vector<Row> rows = {{"table", "rows × dim", "sharding", "kernel", "shards", "ms a shard",
                            "ms", "HBM GiB", "DDR GiB", "ranks"}};
  for (const PlacedOption& placed : plan.tables) {
    if (rows.size() > kTablesOfSummary) break;
    rows.push_back(TableRow(model, placed));
  }
  std::string text = Aligned(rows);
  if (plan.tables.size() > kTablesOfSummary)
    text +=
        Format("  … and {}\n",
               Counted(static_cast<int64_t>(plan.tables.size() - kTablesOfSummary), "more table"));
  return text;
}

std::string RanksTable(const PlanStats& stats) {
  std::vector<Row> rows = {{"rank", "ms", "fwd", "fwd comms", "bwd", "bwd comms", "prefetch",
                            "HBM GiB", "%", "DDR GiB", "%", "in MiB", "out MiB", "shards"}};
  for (size_t r = 0; r < std::min(kShownRanks, stats.ranks.size()); ++r) {
    const RankStats& s = stats.ranks[r];
    std::string shards;
    for (const auto& [type, count] : s.shards)
      shards += Format("{}{} {}", shards.empty() ? "" : ", ", count, type);
    rows.push_back({Format("{}", r), Ms(s.perf_total), Ms(s.perf.fwd_compute), Ms(s.perf.fwd_comms),
                    Ms(s.perf.bwd_compute), Ms(s.perf.bwd_comms), Ms(s.perf.prefetch), Gib(s.hbm),
                    Format("{:.0f}", 100 * s.hbm_ratio), Gib(s.ddr),
                    Format("{:.0f}", 100 * s.ddr_ratio), Mib(s.input_bytes), Mib(s.output_bytes),
                    shards});
  }
  std::string text = Aligned(rows);
  if (stats.ranks.size() > kShownRanks)
    text += Format("  … and {}\n",
                   Counted(static_cast<int64_t>(stats.ranks.size() - kShownRanks), "more rank"));
  return text;
}

std::string KernelsText(const PlanStats& stats) {
  std::vector<Row> rows = {
      {"kernel", "tables", "weights GiB", "optimizer GiB", "HBM GiB", "DDR GiB", "SSD GiB"}};
  for (const auto& [kernel, s] : stats.kernels)
    rows.push_back({ToString(kernel), Format("{}", s.tables), Gib(s.weight_bytes),
                    Gib(s.optimizer_bytes), Gib(s.storage.hbm), Gib(s.storage.ddr),
                    Gib(s.storage.ssd)});
  return Aligned(rows);
}

void AddImbalance(std::vector<Row>& rows, const char* name, const std::optional<Imbalance>& i) {
  if (!i) return;
  rows.push_back({name, Format("{:.4f}", i->total_variation), Format("{:.4f}", i->total_distance),
                  Format("{:.4f}", i->chi_divergence), Format("{:.4f}", i->kl_divergence)});
}

std::string ImbalanceText(const PlanStats& stats) {
  std::vector<Row> rows = {{"imbalance", "total variation", "total distance", "chi", "KL"}};
  AddImbalance(rows, "perf", stats.perf);
  AddImbalance(rows, "HBM", stats.hbm);
  AddImbalance(rows, "DDR", stats.ddr);
  return Aligned(rows);
}

std::string Names(const std::vector<std::string>& names) {
  std::string text;
  constexpr size_t kShown = 5;
  for (size_t i = 0; i < std::min(kShown, names.size()); ++i)
    text += (i == 0 ? "" : ", ") + names[i];
  return text.empty() ? "none" : text;
}

std::string BoundText(const PlanResult& plan) {
  if (plan.proven_optimal) return "no plan is better";
  if (plan.lower_bound <= 0) return "no bound was computed";
  return Format("no plan is below {} (this one is {:.1f} % above)", Ms(plan.lower_bound),
                100 * plan.gap());
}

bool HasSequences(const PlannerModel& model) {
  return std::ranges::any_of(model.tables, [&](const PlannerTable& table) {
    return !IsPooled(model.modules.at(static_cast<size_t>(table.module)).kind);
  });
}

// "15 % of HBM and 20 % of DDR"; CPUs have no HBM.
std::string SharesText(const Topology& topology, const PlanStats& stats) {
  const std::string ddr = Format("{:.0f} % of DDR", 100 * stats.reserved_ddr_share);
  if (topology.compute_device == ComputeDevice::kCpu) return ddr;
  const std::string hbm = Format("{:.0f} % of HBM", 100 * stats.reserved_hbm_share);
  return stats.reserved_ddr_share == 0 ? hbm : hbm + " and " + ddr;
}

std::string SummaryText(const Topology& topology, const PlannerModel& model, const PlanResult& plan,
                        const PlanStats& stats) {
  std::string text = Format(
      "{} on {}, {} a node ({}), batch {} a rank; {}\n", Counted(std::ssize(plan.tables), "table"),
      Counted(topology.world_size, "rank"), topology.local_world_size, topology.compute_device,
      model.batch_size, Counted(plan.num_options, "option"));
  const std::string node =
      plan.rated_by_node ? Format("busiest node {} ms over its cores, ", Ms(plan.rating)) : "";
  text += Format("{}busiest rank {} ms, mean {} ms, found by {}; {}\n", node, Ms(stats.max_perf),
                 Ms(stats.mean_perf), plan.found_by, BoundText(plan));
  if (plan.num_proposals > 0)
    text +=
        Format("{} proposals were tried, {} could be placed\n", plan.num_proposals, plan.num_plans);
  text += Format("critical path {} ms of comms, {} ms of compute; sum of maxima {} ms\n",
                 Ms(stats.critical_comms), Ms(stats.critical_compute), Ms(stats.sum_of_maxima));
  text += Format("reserved a rank: {}, {} for dense parameters, {} for batches of ids\n",
                 SharesText(topology, stats), stats.dense, stats.kjt);
  text += Format("tables on the busiest ranks: {}; on the fullest: {}\n",
                 Names(stats.tables_on_max_perf), Names(stats.tables_on_max_hbm));
  if (HasSequences(model))
    text +=
        "rows of sequences are priced for each id; distinct ids of a rank or a node "
        "(ShardingOptions::dedup_ids) send fewer\n";
  return text;
}

}  // namespace

std::string StatsText(const Topology& topology, const PlannerModel& model, const PlanResult& plan,
                      const PlanStats& stats) {
  return SummaryText(topology, model, plan, stats) + "\n" + TablesText(model, plan) + "\n" +
         RanksTable(stats) + "\n" + KernelsText(stats) + "\n" + ImbalanceText(stats);
}

}  // namespace tessera
