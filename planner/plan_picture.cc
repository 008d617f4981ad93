#include "planner/plan_picture.h"

#include <algorithm>

#include "runtime/base/check.h"
#include "runtime/base/report_text.h"

namespace tessera {
namespace {

using internal::MarkupText;

constexpr int kWidth = 960, kHeight = 220, kLeft = 70, kBottom = 24, kTop = 12;

// One layer of stacked bars.
struct Layer {
  const char* name;
  const char* color;
  std::vector<double> values;  // one a bar
};

struct Chart {
  std::string title, unit;
  std::vector<Layer> layers;
  double line = 0;  // drawn across, if above 0
  std::string line_name;
  int ranks = 1;  // of all bars
};

size_t BarsOf(const Chart& chart) { return chart.layers.front().values.size(); }

double SumOf(const Chart& chart, size_t bar) {
  double sum = 0;
  for (const Layer& layer : chart.layers) sum += layer.values[bar];
  return sum;
}

double LargestBar(const Chart& chart) {
  double largest = 0;
  for (size_t b = 0; b < BarsOf(chart); ++b) largest = std::max(largest, SumOf(chart, b));
  return largest;
}

// A line far above the bars is not drawn, but given in the text.
bool ShowsLine(const Chart& chart) { return chart.line > 0 && chart.line <= 4 * LargestBar(chart); }

double TopOf(const Chart& chart) {
  const double top = std::max(LargestBar(chart), ShowsLine(chart) ? chart.line : 0);
  return top > 0 ? top : 1;
}

// Keeps the bar with the largest sum of each run of bars.
Chart Thinned(Chart chart) {
  const size_t bars = BarsOf(chart);
  if (bars <= kMaxBars) return chart;
  const size_t run = (bars + kMaxBars - 1) / kMaxBars;
  std::vector<std::vector<double>> kept(chart.layers.size());
  for (size_t begin = 0; begin < bars; begin += run) {
    size_t largest = begin;
    for (size_t b = begin; b < std::min(bars, begin + run); ++b)
      if (SumOf(chart, b) > SumOf(chart, largest)) largest = b;
    for (size_t l = 0; l < kept.size(); ++l) kept[l].push_back(chart.layers[l].values[largest]);
  }
  for (size_t l = 0; l < kept.size(); ++l) chart.layers[l].values = std::move(kept[l]);
  return chart;
}

std::string Legend(const Chart& chart) {
  std::string html = "<p class=legend>";
  for (const Layer& layer : chart.layers)
    html += Format("<span style=\"background:{}\"></span>{} ", layer.color, MarkupText(layer.name));
  if (chart.line > 0)
    html += Format("<span class=line></span>{} ({:.4g} {})", MarkupText(chart.line_name),
                   chart.line, chart.unit);
  return html + "</p>\n";
}

std::string BarText(const Chart& chart, size_t bar) {
  std::string text = Format("rank {}", bar);
  for (const Layer& layer : chart.layers)
    text += Format("\n{}: {:.4g} {}", layer.name, layer.values[bar], chart.unit);
  return text;
}

std::string DrawBars(const Chart& chart, double scale) {
  const double width = static_cast<double>(kWidth - kLeft) / static_cast<double>(BarsOf(chart));
  std::string svg;
  for (size_t b = 0; b < BarsOf(chart); ++b) {
    svg += "<g>";
    if (static_cast<int>(BarsOf(chart)) == chart.ranks)
      svg += "<title>" + MarkupText(BarText(chart, b)) + "</title>";
    double y = kTop + kHeight;
    for (const Layer& layer : chart.layers) {
      const double height = layer.values[b] * scale;
      if (height <= 0) continue;
      y -= height;
      svg +=
          Format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>",
                 kLeft + width * static_cast<double>(b) + 0.1 * width, y, 0.8 * width, height,
                 layer.color);
    }
    svg += "</g>\n";
  }
  return svg;
}

std::string DrawAxis(const Chart& chart, double top, double scale) {
  std::string svg;
  for (int tick = 0; tick <= 4; ++tick) {
    const double value = top * tick / 4, y = kTop + kHeight - value * scale;
    svg += Format(
        "<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" class=grid></line>"
        "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:.3g}</text>\n",
        kLeft, kWidth, y, y, kLeft - 6, y + 4, value);
  }
  if (ShowsLine(chart))
    svg +=
        Format("<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" class=limit></line>\n", kLeft,
               kWidth, kTop + kHeight - chart.line * scale, kTop + kHeight - chart.line * scale);
  svg += Format("<text x=\"{}\" y=\"{}\">rank 0</text>", kLeft, kTop + kHeight + 18);
  return svg + Format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">rank {}</text>\n", kWidth,
                      kTop + kHeight + 18, chart.ranks - 1);
}

std::string Draw(const Chart& whole) {
  const Chart chart = Thinned(whole);
  const double top = TopOf(chart), scale = kHeight / top;
  return Format("<h2>{}, {}</h2>\n", MarkupText(chart.title), chart.unit) + Legend(chart) +
         Format("<svg viewBox=\"0 0 {} {}\" role=\"img\">\n", kWidth, kTop + kHeight + kBottom) +
         DrawAxis(chart, top, scale) + DrawBars(chart, scale) + "</svg>\n";
}

// ---- what is drawn

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

Chart TimeChart(const std::vector<RankSums>& sums, double lower_bound) {
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
          .line = lower_bound,
          .line_name = "lower bound",
          .ranks = static_cast<int>(sums.size())};
}

// Draws a line at the cap if all ranks have the same one.
Chart MemoryChart(const Topology& topology, const std::vector<RankSums>& sums) {
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
      .line = caps.empty() ? static_cast<double>(cap) / kMiB : 0,
      .line_name = cpu ? "DDR of a rank" : "HBM of a rank",
      .ranks = static_cast<int>(sums.size())};
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

constexpr char kStyle[] =
    "body{font:14px sans-serif;max-width:1000px;margin:2em auto;padding:0 1em;color:#222;"
    "background:#fff}"
    "svg{width:100%}text{font:11px sans-serif;fill:#555}.grid{stroke:#ddd}"
    ".limit{stroke:#c00;stroke-dasharray:6 4}"
    ".legend span{display:inline-block;width:1em;height:.8em;margin:0 .4em 0 1em}"
    ".legend .line{height:0;border-top:2px dashed #c00;vertical-align:middle}"
    "table{border-collapse:collapse}td,th{border-bottom:1px solid #ddd;padding:.2em .8em;"
    "text-align:left}";

}  // namespace

std::string PlanPicture(const Topology& topology, const PlannerModel& model,
                        const std::vector<PlacedOption>& plan, const PlanPictureOptions& options) {
  const std::vector<RankSums> sums = SumsOf(topology, plan);
  return Format(
             "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8><title>{}</title>"
             "<style>{}</style></head><body>\n<h1>{}</h1>\n",
             MarkupText(options.title), kStyle, MarkupText(options.title)) +
         Draw(TimeChart(sums, options.lower_bound)) + Draw(MemoryChart(topology, sums)) +
         "<h2>Tables</h2>\n" + TableRows(model, plan) + "</body></html>\n";
}

}  // namespace tessera
