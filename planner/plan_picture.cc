#include "planner/plan_picture.h"

#include "planner/bar_chart.h"
#include "runtime/base/check.h"
#include "runtime/base/report_text.h"

namespace tessera {
namespace {

using internal::BarChart;
using internal::MarkupText;
using internal::ToGib;

template <typename Fn>
std::vector<double> Each(const std::vector<RankStats>& ranks, const Fn& fn) {
  std::vector<double> values;
  for (const RankStats& rank : ranks) values.push_back(static_cast<double>(fn(rank)));
  return values;
}

std::vector<std::string> RankNames(size_t ranks) {
  std::vector<std::string> names;
  for (size_t r = 0; r < ranks; ++r) names.push_back(Format("rank {}", r));
  return names;
}

BarChart TimeChart(const std::vector<RankStats>& ranks, double lower_bound) {
  return {.title = "Time of a step",
          .unit = "ms",
          .layers = {{"forward compute", "#2c7fb8",
                      Each(ranks, [](const RankStats& r) { return r.perf.fwd_compute; })},
                     {"backward compute", "#7fcdbb",
                      Each(ranks, [](const RankStats& r) { return r.perf.bwd_compute; })},
                     {"forward exchange", "#fd8d3c",
                      Each(ranks, [](const RankStats& r) { return r.perf.fwd_comms; })},
                     {"backward exchange", "#fdbe85",
                      Each(ranks, [](const RankStats& r) { return r.perf.bwd_comms; })},
                     {"prefetch", "#969696",
                      Each(ranks, [](const RankStats& r) { return r.perf.prefetch; })}},
          .bars = RankNames(ranks.size()),
          .line = lower_bound,
          .line_name = "lower bound"};
}

// Draws a line at the cap if all ranks have the same one.
BarChart MemoryChart(const Topology& topology, const std::vector<RankStats>& ranks) {
  const bool cpu = topology.compute_device == ComputeDevice::kCpu;
  const std::vector<int64_t>& caps = cpu ? topology.ddr_caps : topology.hbm_caps;
  const int64_t cap = cpu ? topology.ddr_cap : topology.hbm_cap;
  return {
      .title = "Memory, with the dense part and batches of ids",
      .unit = "GiB",
      .layers = {{"HBM", "#2c7fb8", Each(ranks, [&](const RankStats& r) { return ToGib(r.hbm); })},
                 {"DDR", "#7fcdbb", Each(ranks, [&](const RankStats& r) { return ToGib(r.ddr); })},
                 {"SSD", "#969696", Each(ranks, [&](const RankStats& r) { return ToGib(r.ssd); })}},
      .bars = RankNames(ranks.size()),
      .line = caps.empty() ? ToGib(cap) : 0,
      .line_name = cpu ? "DDR of a rank" : "HBM of a rank"};
}

std::string TableRows(const PlannerModel& model, const std::vector<PlacedOption>& plan) {
  std::string html =
      "<table><tr><th>table<th>rows<th>columns<th>sharding<th>kernel<th>shards<th>ranks<th>ms, "
      "all ranks<th>GiB, all ranks</tr>\n";
  for (const PlacedOption& placed : plan) {
    const PlannerTable& table = model.tables[static_cast<size_t>(placed.option.table)];
    const Storage storage = placed.option.total_storage();
    html += Format("<tr><td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{:.4g}<td>{:.4g}</tr>\n",
                   MarkupText(model.full_name(table)), table.rows, table.dim,
                   ToString(placed.option.type), ToString(placed.option.kernel),
                   placed.option.num_shards(), RanksText(placed.ranks), placed.option.total_perf(),
                   ToGib(storage.hbm + storage.ddr + storage.ssd));
  }
  return html + "</table>\n";
}

}  // namespace

std::string PlanPicture(const Topology& topology, const PlannerModel& model,
                        const std::vector<PlacedOption>& plan, const PlanStats& stats,
                        const PlanPictureOptions& options) {
  return internal::HtmlPage(options.title,
                            DrawChart(TimeChart(stats.ranks, options.lower_bound), kMaxBars) +
                                DrawChart(MemoryChart(topology, stats.ranks), kMaxBars) +
                                "<h2>Tables</h2>\n" + TableRows(model, plan));
}

}  // namespace tessera
