#include "planner/plan_picture.h"

#include "planner/bar_chart.h"
#include "runtime/base/check.h"
#include "runtime/base/report_text.h"

namespace tessera {
namespace {

using internal::BarChart;
using internal::MarkupText;

struct RankSums {
  ShardPerf perf;
  Storage storage;
};

std::vector<RankSums> SumsOf(const Topology& topology, const std::vector<PlacedOption>& plan) {
  std::vector<RankSums> sums(static_cast<size_t>(topology.world_size));
  for (const PlacedOption& placed : plan)
    placed.option.ForEachShard([&](int64_t i, const ShardRun& run) {
      RankSums& rank = sums[static_cast<size_t>(placed.ranks[static_cast<size_t>(i)])];
      rank.perf += run.perf;
      rank.storage += run.storage;
    });
  return sums;
}

template <typename Fn>
std::vector<double> Each(const std::vector<RankSums>& sums, const Fn& fn) {
  std::vector<double> values;
  for (const RankSums& rank : sums) values.push_back(static_cast<double>(fn(rank)));
  return values;
}

std::vector<std::string> RankNames(size_t ranks) {
  std::vector<std::string> names;
  for (size_t r = 0; r < ranks; ++r) names.push_back(Format("rank {}", r));
  return names;
}

BarChart TimeChart(const std::vector<RankSums>& sums, double lower_bound) {
  return {.title = "Time of a step",
          .unit = "ms",
          .layers = {{"forward compute", "#2c7fb8",
                      Each(sums, [](const RankSums& r) { return r.perf.fwd_compute; })},
                     {"backward compute", "#7fcdbb",
                      Each(sums, [](const RankSums& r) { return r.perf.bwd_compute; })},
                     {"forward exchange", "#fd8d3c",
                      Each(sums, [](const RankSums& r) { return r.perf.fwd_comms; })},
                     {"backward exchange", "#fdbe85",
                      Each(sums, [](const RankSums& r) { return r.perf.bwd_comms; })},
                     {"prefetch", "#969696",
                      Each(sums, [](const RankSums& r) { return r.perf.prefetch; })}},
          .bars = RankNames(sums.size()),
          .line = lower_bound,
          .line_name = "lower bound"};
}

// Draws a line at the cap if all ranks have the same one.
BarChart MemoryChart(const Topology& topology, const std::vector<RankSums>& sums) {
  constexpr double kMiB = 1048576;
  const bool cpu = topology.compute_device == ComputeDevice::kCpu;
  const std::vector<int64_t>& caps = cpu ? topology.ddr_caps : topology.hbm_caps;
  const int64_t cap = cpu ? topology.ddr_cap : topology.hbm_cap;
  return {
      .title = "Memory",
      .unit = "MiB",
      .layers =
          {{"HBM", "#2c7fb8",
            Each(sums,
                 [&](const RankSums& r) { return static_cast<double>(r.storage.hbm) / kMiB; })},
           {"DDR", "#7fcdbb",
            Each(sums,
                 [&](const RankSums& r) { return static_cast<double>(r.storage.ddr) / kMiB; })},
           {"SSD", "#969696",
            Each(sums,
                 [&](const RankSums& r) { return static_cast<double>(r.storage.ssd) / kMiB; })}},
      .bars = RankNames(sums.size()),
      .line = caps.empty() ? static_cast<double>(cap) / kMiB : 0,
      .line_name = cpu ? "DDR of a rank" : "HBM of a rank"};
}

std::string TableRows(const PlannerModel& model, const std::vector<PlacedOption>& plan) {
  std::string html =
      "<table><tr><th>table<th>rows<th>columns<th>sharding<th>kernel<th>shards<th>ranks<th>ms, "
      "all ranks<th>MiB, all ranks</tr>\n";
  for (const PlacedOption& placed : plan) {
    const PlannerTable& table = model.tables[static_cast<size_t>(placed.option.table)];
    const Storage storage = placed.option.total_storage();
    html += Format("<tr><td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{:.4g}<td>{:.4g}</tr>\n",
                   MarkupText(model.full_name(table)), table.rows, table.dim,
                   ToString(placed.option.type), ToString(placed.option.kernel),
                   placed.option.num_shards(), RanksText(placed.ranks), placed.option.total_perf(),
                   static_cast<double>(storage.hbm + storage.ddr + storage.ssd) / 1048576);
  }
  return html + "</table>\n";
}

}  // namespace

std::string PlanPicture(const Topology& topology, const PlannerModel& model,
                        const std::vector<PlacedOption>& plan, const PlanPictureOptions& options) {
  const std::vector<RankSums> sums = SumsOf(topology, plan);
  return internal::HtmlPage(
      options.title, DrawChart(TimeChart(sums, options.lower_bound), kMaxBars) +
                         DrawChart(MemoryChart(topology, sums), kMaxBars) + "<h2>Tables</h2>\n" +
                         TableRows(model, plan));
}

}  // namespace tessera
