#include "planner/bar_chart.h"
#include "planner/what_if.h"
#include "runtime/base/check.h"
#include "runtime/base/report_text.h"

namespace tessera {
namespace {

using internal::DrawChart;
using internal::MarkupText;
using internal::ToGib;

constexpr char kCurrentColor[] = "#fd8d3c", kOtherColor[] = "#2c7fb8", kHostColor[] = "#7fcdbb",
               kDiskColor[] = "#c7e9b4";
constexpr size_t kMaxMarks = 40;

std::vector<std::string> Names(const WhatIf& what_if) {
  std::vector<std::string> names;
  for (size_t p = 0; p < what_if.points.size(); ++p)
    names.push_back(Format("{}: {}{}", p + 1, NameOfPoint(what_if.axes, what_if.points[p].values),
                           what_if.points[p].plan ? "" : "\nno plan fits"));
  return names;
}

std::vector<std::string> Marks(size_t points) {
  std::vector<std::string> marks;
  for (size_t p = 0; p < points && points <= kMaxMarks; ++p) marks.push_back(Format("{}", p + 1));
  return marks;
}

// A value of each plan; 0 where none fits.
template <typename Value>
std::vector<double> Each(const WhatIf& what_if, Value&& value) {
  std::vector<double> values;
  for (const WhatIfPoint& point : what_if.points)
    values.push_back(point.plan ? static_cast<double>(value(*point.plan)) : 0);
  return values;
}

// One of all values, or all but it.
std::vector<double> Only(std::vector<double> values, size_t place, bool kept) {
  for (size_t p = 0; p < values.size(); ++p)
    if ((p == place) != kept) values[p] = 0;
  return values;
}

template <typename Value>
std::string DrawValues(const WhatIf& what_if, const char* title, const char* unit, Value&& value) {
  const std::vector<double> values = Each(what_if, value);
  return DrawChart({.title = title,
                    .unit = unit,
                    .layers = {{"now", kCurrentColor, Only(values, what_if.current, true)},
                               {"what if", kOtherColor, Only(values, what_if.current, false)}},
                    .bars = Names(what_if),
                    .marks = Marks(what_if.points.size())},
                   kMaxWhatIfPoints);
}

std::string DrawMemory(const WhatIf& what_if) {
  return DrawChart(
      {.title = "Memory of the fullest rank",
       .unit = "GiB",
       .layers = {{"HBM", kOtherColor,
                   Each(what_if, [&](const WhatIfPlan& plan) { return ToGib(plan.most_hbm); })},
                  {"host memory", kHostColor,
                   Each(what_if, [&](const WhatIfPlan& plan) { return ToGib(plan.most_ddr); })},
                  {"disk", kDiskColor,
                   Each(what_if, [&](const WhatIfPlan& plan) { return ToGib(plan.most_disk); })}},
       .bars = Names(what_if),
       .marks = Marks(what_if.points.size())},
      kMaxWhatIfPoints);
}

std::string PlanCells(const WhatIfPlan& plan) {
  return Format("<td>{}<td>{:.4g}<td>{:.4g}<td>{:.4g}<td>{:.4g}<td>{:.4g}<td>{:.4g}<td>{}",
                plan.batch, plan.step_ms, plan.rows_per_second(), plan.rank_hours(),
                ToGib(plan.most_hbm), ToGib(plan.most_ddr), ToGib(plan.most_disk), plan.bound_by);
}

std::string PointsTable(const WhatIf& what_if) {
  std::string html = "<h2>Points</h2>\n<table><tr><th>point";
  for (const WhatIfAxis& axis : what_if.axes) html += "<th>" + ToString(axis.key);
  html +=
      "<th>batch a rank<th>ms a step<th>rows a second<th>rank-hours of 10⁹ rows<th>HBM, GiB"
      "<th>host memory, GiB<th>disk, GiB<th>bound by</tr>\n";
  for (size_t p = 0; p < what_if.points.size(); ++p) {
    const WhatIfPoint& point = what_if.points[p];
    html += Format("<tr><td>{}{}", p + 1, p == what_if.current ? " (now)" : "");
    for (size_t a = 0; a < what_if.axes.size(); ++a)
      html += "<td>" + MarkupText(what_if.axes[a].values[point.values[a]]);
    html += point.plan ? PlanCells(*point.plan) : "<td colspan=7>" + MarkupText(point.why);
    html += "</tr>\n";
  }
  return html + "</table>\n";
}

}  // namespace

std::string WhatIfPicture(const WhatIf& what_if, const std::string& title) {
  return internal::HtmlPage(
      title, DrawValues(what_if, "Time of a step", "ms",
                        [](const WhatIfPlan& plan) { return plan.step_ms; }) +
                 DrawValues(what_if, "Throughput of all ranks", "rows/s",
                            [](const WhatIfPlan& plan) { return plan.rows_per_second(); }) +
                 DrawMemory(what_if) +
                 DrawValues(what_if, "Cost of 10⁹ rows", "rank-hours",
                            [](const WhatIfPlan& plan) { return plan.rank_hours(); }) +
                 PointsTable(what_if));
}

}  // namespace tessera
