#include "bench/pictures/sweep_lines.h"

#include <algorithm>

#include "bench/harness/point.h"
#include "bench/pictures/chart_parts.h"
#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

constexpr size_t kLeastValues = 3;

struct VaryingAxis {
  std::string name;
  std::vector<std::string> values;  // in the order they are met
};

std::string ValueOf(const Measurement& row, const std::string& axis) {
  if (axis == "threads") return Format("{}", row.threads);
  for (const auto& [name, value] : row.values)
    if (name == axis) return value;
  return "";
}

std::vector<VaryingAxis> VaryingAxes(const BenchRun& run) {
  std::vector<std::string> names;
  for (const Measurement& row : run.rows)
    for (const auto& [name, value] : row.values) IndexIn(names, name);
  IndexIn(names, "threads");
  std::vector<VaryingAxis> axes;
  for (const std::string& name : names) {
    VaryingAxis axis{name, {}};
    for (const Measurement& row : run.rows) IndexIn(axis.values, ValueOf(row, name));
    if (axis.values.size() > 1) axes.push_back(std::move(axis));
  }
  return axes;
}

bool AllNumbers(const VaryingAxis& axis) {
  try {
    for (const std::string& value : axis.values) ParseNumber(value);
  } catch (const Error&) {
    return false;
  }
  return true;
}

const VaryingAxis* AxisAlongX(const std::vector<VaryingAxis>& axes) {
  const VaryingAxis* along = nullptr;
  for (const VaryingAxis& axis : axes)
    if (axis.values.size() >= kLeastValues && AllNumbers(axis) &&
        (along == nullptr || axis.values.size() > along->values.size()))
      along = &axis;
  return along;
}

// Whether each contender was measured once at each place of the product.
bool IsProduct(const BenchRun& run, const std::vector<VaryingAxis>& axes) {
  size_t places = 1;
  for (const VaryingAxis& axis : axes) places *= axis.values.size();
  std::vector<std::string> contenders, rows;
  for (const Measurement& row : run.rows) {
    std::string place = row.contender;
    for (const VaryingAxis& axis : axes) place += "\n" + ValueOf(row, axis.name);
    IndexIn(contenders, row.contender);
    IndexIn(rows, place);
  }
  return rows.size() == run.rows.size() && rows.size() == places * contenders.size();
}

std::string LineName(const Measurement& row, const std::vector<VaryingAxis>& axes,
                     const std::string& x_axis, bool say_contender) {
  std::string name = say_contender ? row.contender : "";
  for (const VaryingAxis& axis : axes) {
    if (axis.name == x_axis) continue;
    const std::string value = ValueOf(row, axis.name);
    const std::string said = axis.name != "threads"
                                 ? axis.name + " " + value
                                 : value + (value == "1" ? " thread" : " threads");
    name += (name.empty() ? "" : ", ") + said;
  }
  return name.empty() ? row.contender : name;
}

}  // namespace

std::optional<SweepLines> TakeApart(const BenchRun& run) {
  const std::vector<VaryingAxis> axes = VaryingAxes(run);
  const VaryingAxis* along = AxisAlongX(axes);
  if (along == nullptr || !IsProduct(run, axes)) return std::nullopt;
  const bool say_contender = std::any_of(
      run.rows.begin(), run.rows.end(),
      [&](const Measurement& row) { return row.contender != run.rows.front().contender; });
  SweepLines sweep{along->name, {}};
  std::vector<std::string> names;
  for (const Measurement& row : run.rows) {
    const size_t line = IndexIn(names, LineName(row, axes, along->name, say_contender));
    if (line == sweep.lines.size()) sweep.lines.push_back({names[line], {}});
    const std::string x = ValueOf(row, along->name);
    sweep.lines[line].points.push_back({ParseNumber(x), x, &row});
  }
  for (SweepLine& line : sweep.lines)
    std::sort(line.points.begin(), line.points.end(),
              [](const SweepPoint& a, const SweepPoint& b) { return a.x < b.x; });
  return sweep;
}

}  // namespace tessera::bench
