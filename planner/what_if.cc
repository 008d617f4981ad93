#include "planner/what_if.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "planner/model/planner_error.h"
#include "quant/wire_codec.h"
#include "runtime/base/check.h"
#include "runtime/base/names.h"
#include "runtime/base/parse_number.h"

namespace tessera {
namespace {

constexpr const char* kKeyNames[] = {"ranks", "hbm",   "ddr",      "disk",
                                     "batch", "codec", "intra_bw", "inter_bw"};
constexpr double kMillisecondsPerHour = 3.6e6, kRowsOfCost = 1e9, kThousandth = 1e-3;

WhatIfKey ParseKey(const std::string& name) {
  return internal::ParseName<WhatIfKey>(name, "key", kKeyNames);
}

std::string WholeNumber(const std::string& text, int64_t most) {
  int64_t number = 0;
  if (!ParseNumber(text, number) || number < 1 || number > most)
    throw Error(Format("'{}': expected a whole number from 1 to {}", text, most));
  return Format("{}", number);
}

std::string RealNumber(const std::string& text, bool above_zero) {
  constexpr double kMaxValue = 1e9;
  double number = 0;
  if (!ParseNumber(text, number) || !(number >= 0) || number > kMaxValue ||
      (above_zero && number == 0))
    throw Error(Format("'{}': expected a number {} {:.0f}", text,
                       above_zero ? "above 0 and up to" : "from 0 to", kMaxValue));
  return WhatIfNumber(number);
}

// The value as it is written, whatever way it was given.
std::string ParseValue(WhatIfKey key, const std::string& text) {
  switch (key) {
    case WhatIfKey::kRanks:
      return WholeNumber(text, 1 << 20);
    case WhatIfKey::kBatch:
      return WholeNumber(text, int64_t{1} << 40);
    case WhatIfKey::kHbm:
    case WhatIfKey::kDdr:
    case WhatIfKey::kDisk:
      return RealNumber(text, /*above_zero=*/false);
    case WhatIfKey::kIntraBw:
    case WhatIfKey::kInterBw:
      return RealNumber(text, /*above_zero=*/true);
    case WhatIfKey::kCodec:
      return ToString(ParseWireCodecs(text));
  }
  TESSERA_FAIL("unknown WhatIfKey {}", static_cast<int>(key));
}

std::vector<std::string> SplitAtCommas(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

void SortNumbers(WhatIfAxis& axis) {
  if (axis.key == WhatIfKey::kCodec) return;
  const auto number = [](const std::string& text) {
    double value = 0;
    ParseNumber(text, value);
    return value;
  };
  std::sort(axis.values.begin(), axis.values.end(),
            [&](const std::string& a, const std::string& b) { return number(a) < number(b); });
}

// The values of the point at this place of the grid.
std::vector<size_t> ValuesAt(const std::vector<WhatIfAxis>& axes, size_t place) {
  std::vector<size_t> values(axes.size());
  for (size_t a = axes.size(); a-- > 0;) {
    values[a] = place % axes[a].values.size();
    place /= axes[a].values.size();
  }
  return values;
}

size_t NumPoints(const std::vector<WhatIfAxis>& axes) {
  size_t points = 1;
  for (const WhatIfAxis& axis : axes) points *= axis.values.size();
  return points;
}

double RowsPerSecond(const WhatIfPoint& point) {
  return point.plan ? point.plan->rows_per_second() : 0;
}

// The place of the best one among the points with a plan that `is_asked` takes; of those that are
// as good but for a thousandth, the current one or else the first.
template <typename IsAsked, typename IsBetter>
std::optional<size_t> Best(const WhatIf& what_if, IsAsked&& is_asked, IsBetter&& is_better) {
  std::optional<size_t> best;
  const auto offer = [&](size_t p) {
    const WhatIfPoint& point = what_if.points[p];
    if (!point.plan || !is_asked(point)) return;
    if (!best || is_better(*point.plan, *what_if.points[*best].plan)) best = p;
  };
  offer(what_if.current);
  for (size_t p = 0; p < what_if.points.size(); ++p) offer(p);
  return best;
}

bool IsAny(const WhatIfPoint&) { return true; }

bool IsFaster(const WhatIfPlan& a, const WhatIfPlan& b) {
  return a.rows_per_second() > (1 + kThousandth) * b.rows_per_second();
}

}  // namespace

std::string ToString(WhatIfKey key) { return kKeyNames[static_cast<int>(key)]; }

std::string WhatIfNumber(double number) { return Format("{:.6g}", number); }

WhatIfAxis ParseWhatIf(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos)
    throw Error(Format("{}: expected KEY=V1,V2,…, as ranks=2,4,8", text));
  const std::string name = text.substr(0, equals);
  WhatIfAxis axis{.key = ParseKey(name), .values = {}};
  for (const std::string& given : SplitAtCommas(text.substr(equals + 1))) {
    if (given.find('=') != std::string::npos)
      throw Error(Format("{}: '{}': one flag is of one key; give another --what-if", name, given));
    try {
      axis.values.push_back(ParseValue(axis.key, given));
    } catch (const Error& error) {
      throw Error(Format("{}: {}", name, error.what()));
    }
    if (std::count(axis.values.begin(), axis.values.end(), axis.values.back()) > 1)
      throw Error(Format("{}: {} is given twice", name, axis.values.back()));
  }
  SortNumbers(axis);
  return axis;
}

void SetCurrent(WhatIfAxis& axis, const std::string& value) {
  if (std::find(axis.values.begin(), axis.values.end(), value) == axis.values.end())
    axis.values.insert(axis.values.begin(), value);
  SortNumbers(axis);
  axis.current = static_cast<size_t>(std::find(axis.values.begin(), axis.values.end(), value) -
                                     axis.values.begin());
}

double WhatIfPlan::rows_per_second() const {
  return step_ms > 0 ? 1e3 * static_cast<double>(batch) * ranks / step_ms : 0;
}

double WhatIfPlan::rank_hours() const {
  const double steps = kRowsOfCost / (static_cast<double>(batch) * ranks);
  return batch > 0 ? steps * step_ms / kMillisecondsPerHour * ranks : 0;
}

void CheckWhatIf(const std::vector<WhatIfAxis>& axes) {
  double points = 1;
  for (size_t a = 0; a < axes.size(); ++a) {
    points *= static_cast<double>(axes[a].values.size());
    for (size_t b = 0; b < a; ++b)
      if (axes[a].key == axes[b].key)
        throw Error(Format("{} is given twice: name all of its values at once", axes[a].key));
  }
  if (points > static_cast<double>(kMaxWhatIfPoints))
    throw Error(Format("the grid has {:.0f} points, and at most {} are planned; give fewer values",
                       points, kMaxWhatIfPoints));
}

WhatIf ExploreWhatIf(std::vector<WhatIfAxis> axes, const PlanAt& plan_at,
                     const WhatIfProgress& progress) {
  CheckWhatIf(axes);
  WhatIf what_if{.axes = std::move(axes), .points = {}};
  const size_t count = NumPoints(what_if.axes);
  for (size_t p = 0; p < count; ++p) {
    WhatIfPoint point{.values = ValuesAt(what_if.axes, p), .plan = {}, .why = {}};
    bool current = true;
    for (size_t a = 0; a < what_if.axes.size(); ++a)
      current = current && point.values[a] == what_if.axes[a].current;
    if (current) what_if.current = p;
    if (progress)
      progress(NameOfPoint(what_if.axes, point.values),
               static_cast<double>(p) / static_cast<double>(count));
    try {
      point.plan = plan_at(point.values);
    } catch (const PlannerError& error) {
      point.why = error.what();
    }
    what_if.points.push_back(std::move(point));
  }
  return what_if;
}

std::string NameOfPoint(const std::vector<WhatIfAxis>& axes, const std::vector<size_t>& values) {
  std::string name;
  for (size_t a = 0; a < axes.size(); ++a)
    name += Format("{}{}={}", a == 0 ? "" : ", ", axes[a].key, axes[a].values[values[a]]);
  return name;
}

std::optional<size_t> BestPoint(const WhatIf& what_if) { return Best(what_if, IsAny, IsFaster); }

std::optional<size_t> CheapestPoint(const WhatIf& what_if) {
  return Best(what_if, IsAny, [](const WhatIfPlan& a, const WhatIfPlan& b) {
    return (1 + kThousandth) * a.rank_hours() < b.rank_hours();
  });
}

std::optional<size_t> BestChange(const WhatIf& what_if) {
  const auto is_one_change = [&](const WhatIfPoint& point) {
    size_t changes = 0;
    for (size_t a = 0; a < what_if.axes.size(); ++a)
      changes += point.values[a] != what_if.axes[a].current;
    return changes == 1;
  };
  return Best(what_if, is_one_change, IsFaster);
}

size_t ChangedAxis(const WhatIf& what_if, size_t point) {
  size_t axis = 0;
  while (what_if.points[point].values[axis] == what_if.axes[axis].current) ++axis;
  return axis;
}

bool Helps(const WhatIf& what_if, size_t point) {
  return RowsPerSecond(what_if.points[point]) >
         (1 + kThousandth) * RowsPerSecond(what_if.points[what_if.current]);
}

}  // namespace tessera
