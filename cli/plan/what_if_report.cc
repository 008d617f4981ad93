#include "cli/plan/what_if_report.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "cli/show/numbers.h"
#include "runtime/base/check.h"
#include "runtime/base/report_text.h"

namespace tessera::cli {
namespace {

using internal::Gib;
using Json = nlohmann::ordered_json;

constexpr int64_t kShownReasons = 10;

// ---- in words

// "point 4 (now)"
std::string PointText(const WhatIf& what_if, size_t point) {
  return Format("point {}{}", point + 1, point == what_if.current ? " (now)" : "");
}

std::vector<std::string> Heading(const WhatIf& what_if) {
  std::vector<std::string> row = {"point"};
  for (const WhatIfAxis& axis : what_if.axes) row.push_back(ToString(axis.key));
  const char* rest[] = {"ms a step", "rows/s",  "rank-hours of 10⁹ rows", "HBM GiB", "host GiB",
                        "disk GiB",  "bound by"};
  row.insert(row.end(), std::begin(rest), std::end(rest));
  return row;
}

void AddPlan(const WhatIfPlan& plan, std::vector<std::string>& row) {
  row.insert(row.end(),
             {Format("{:.4g}", plan.step_ms), WithCommas(plan.rows_per_second()),
              Format("{:.4g}", plan.rank_hours()), Gib(plan.most_hbm), Gib(plan.most_ddr),
              Gib(plan.most_disk), Format("{} ({:.0f} %)", plan.bound_by, 100 * plan.bound_share)});
}

std::string Table(const WhatIf& what_if) {
  std::vector<std::vector<std::string>> rows = {Heading(what_if)};
  for (size_t p = 0; p < what_if.points.size(); ++p) {
    const WhatIfPoint& point = what_if.points[p];
    std::vector<std::string> row = {Format("{}{}", p + 1, p == what_if.current ? " (now)" : "")};
    for (size_t a = 0; a < what_if.axes.size(); ++a)
      row.push_back(what_if.axes[a].values[point.values[a]]);
    if (point.plan)
      AddPlan(*point.plan, row);
    else
      row.insert(row.end(), {"-", "-", "-", "-", "-", "-", "no plan fits"});
    rows.push_back(std::move(row));
  }
  return TextTable(rows, "  ");
}

// The sentence without what follows from it for single tables.
std::string FirstPart(const std::string& why) { return why.substr(0, why.find(';')); }

std::string Reasons(const WhatIf& what_if) {
  std::string text;
  int64_t count = 0;
  for (size_t p = 0; p < what_if.points.size(); ++p) {
    const WhatIfPoint& point = what_if.points[p];
    if (point.plan || ++count > kShownReasons) continue;
    text += Format("point {} ({}): {}\n", p + 1, NameOfPoint(what_if.axes, point.values),
                   FirstPart(point.why));
  }
  if (count > kShownReasons)
    text += Format("… and {} where no plan fits\n", Counted(count - kShownReasons, "more point"));
  return text.empty() ? "" : "\nno plan fits at:\n" + text;
}

// "ranks 4 → 8"
std::string ChangeText(const WhatIf& what_if, size_t point) {
  const size_t a = ChangedAxis(what_if, point);
  const WhatIfAxis& axis = what_if.axes[a];
  return Format("{} {} → {}", axis.key, axis.values[axis.current],
                axis.values[what_if.points[point].values[a]]);
}

std::string GainText(const WhatIf& what_if, size_t point) {
  const WhatIfPlan& plan = *what_if.points[point].plan;
  const std::optional<WhatIfPlan>& now = what_if.points[what_if.current].plan;
  if (!now)
    return Format("{} rows a second where no plan fits now", WithCommas(plan.rows_per_second()));
  return Format(
      "{:.3g} times the rows a second (a step of {:.4g} → {:.4g} ms) at {:.3g} times the "
      "rank-hours of a row",
      plan.rows_per_second() / now->rows_per_second(), now->step_ms, plan.step_ms,
      plan.rank_hours() / now->rank_hours());
}

std::string AdviceText(const WhatIf& what_if) {
  const std::optional<size_t> change = BestChange(what_if), best = BestPoint(what_if);
  if (!best) return "no plan fits at any of these points\n";
  std::string text = "no single one of these changes gives more rows a second than there are now";
  if (change && Helps(what_if, *change))
    text = Format("the single change that helps the most is {}: {}", ChangeText(what_if, *change),
                  GainText(what_if, *change));
  return text + Format("; {} has the most rows a second, {} the fewest rank-hours of a row\n",
                       PointText(what_if, *best), PointText(what_if, *CheapestPoint(what_if)));
}

// How far the prices reach.
std::string PricesText(const WhatIf& what_if, const WhatIfFacts& facts) {
  if (facts.measured_ranks == 0) return ", which times the tables alone";
  for (const WhatIfAxis& axis : what_if.axes)
    if (axis.key == WhatIfKey::kRanks)
      return Format(", whose machine was measured with {}; other numbers are extrapolated",
                    Counted(facts.measured_ranks, "rank"));
  return "";
}

// ---- as JSON

Json ValueJson(const WhatIfAxis& axis, size_t value) {
  const std::string& text = axis.values[value];
  return axis.key == WhatIfKey::kCodec ? Json(text) : Json::parse(text);
}

Json AxisJson(const WhatIfAxis& axis) {
  Json values = Json::array();
  for (size_t v = 0; v < axis.values.size(); ++v) values.push_back(ValueJson(axis, v));
  return {{"key", ToString(axis.key)},
          {"values", std::move(values)},
          {"current", ValueJson(axis, axis.current)}};
}

Json PointJson(const WhatIf& what_if, size_t p) {
  const WhatIfPoint& point = what_if.points[p];
  Json values = Json::object();
  for (size_t a = 0; a < what_if.axes.size(); ++a)
    values[ToString(what_if.axes[a].key)] = ValueJson(what_if.axes[a], point.values[a]);
  Json json = {{"point", p + 1}, {"values", std::move(values)}, {"current", p == what_if.current}};
  if (!point.plan) {
    json["no_plan"] = point.why;
    return json;
  }
  const WhatIfPlan& plan = *point.plan;
  json.update({{"ranks", plan.ranks},
               {"batch", plan.batch},
               {"step_ms", plan.step_ms},
               {"rows_per_second", plan.rows_per_second()},
               {"rank_hours_of_1e9_rows", plan.rank_hours()},
               {"most_hbm", plan.most_hbm},
               {"most_ddr", plan.most_ddr},
               {"most_disk", plan.most_disk},
               {"bound_by", plan.bound_by},
               {"bound_share", plan.bound_share}});
  return json;
}

Json ChangeJson(const WhatIf& what_if) {
  const std::optional<size_t> change = BestChange(what_if);
  if (!change || !Helps(what_if, *change)) return nullptr;
  const size_t a = ChangedAxis(what_if, *change);
  const WhatIfAxis& axis = what_if.axes[a];
  return {{"point", *change + 1},
          {"key", ToString(axis.key)},
          {"from", ValueJson(axis, axis.current)},
          {"to", ValueJson(axis, what_if.points[*change].values[a])}};
}

}  // namespace

std::string WhatIfText(const WhatIf& what_if, const WhatIfFacts& facts) {
  return Format("{} by the {} cost model{}\n\n", Counted(std::ssize(what_if.points), "point"),
                facts.cost_model, PricesText(what_if, facts)) +
         Table(what_if) + Reasons(what_if) + "\n" + AdviceText(what_if);
}

std::string WhatIfJson(const WhatIf& what_if, const WhatIfFacts& facts) {
  Json json = {
      {"cost_model", facts.cost_model}, {"axes", Json::array()}, {"points", Json::array()}};
  for (const WhatIfAxis& axis : what_if.axes) json["axes"].push_back(AxisJson(axis));
  for (size_t p = 0; p < what_if.points.size(); ++p)
    json["points"].push_back(PointJson(what_if, p));
  const auto number = [](std::optional<size_t> p) { return p ? Json(*p + 1) : Json(nullptr); };
  json["fastest_point"] = number(BestPoint(what_if));
  json["cheapest_point"] = number(CheapestPoint(what_if));
  json["best_change"] = ChangeJson(what_if);
  return json.dump(1) + "\n";
}

}  // namespace tessera::cli
