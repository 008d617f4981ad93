#include "tests/crossings/point.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <sstream>
#include <tuple>

#include "runtime/base/check.h"

namespace tessera::testing {
namespace {

bool IsOneOf(const std::string& value, const std::string& values) {
  std::istringstream words(values);
  for (std::string word; std::getline(words, word, '|');)
    if (word == value) return true;
  return false;
}

int ValueNumber(const Axis& axis, const std::string& value) {
  const auto found = std::find(axis.values.begin(), axis.values.end(), value);
  TESSERA_CHECK(found != axis.values.end(), "axis {} has no value {}", axis.name, value);
  return static_cast<int>(found - axis.values.begin());
}

// The values a and b of axes i < j.
using Pair = std::tuple<size_t, size_t, int, int>;

std::set<Pair> AllPairs(const std::vector<Axis>& axes, const std::vector<Refusal>& refusals) {
  std::set<Pair> pairs;
  for (size_t i = 0; i < axes.size(); ++i)
    for (size_t j = i + 1; j < axes.size(); ++j)
      for (int a = 0; a < static_cast<int>(axes[i].values.size()); ++a)
        for (int b = 0; b < static_cast<int>(axes[j].values.size()); ++b) {
          Point point(axes);
          point.Set(i, a);
          point.Set(j, b);
          if (RefusalOf(point, refusals) == nullptr) pairs.insert({i, j, a, b});
        }
  return pairs;
}

int Covers(const Point& point, const std::set<Pair>& left) {
  int covered = 0;
  for (size_t i = 0; i < point.axes().size(); ++i)
    for (size_t j = i + 1; j < point.axes().size(); ++j)
      covered += left.count({i, j, point.value(i), point.value(j)}) > 0 ? 1 : 0;
  return covered;
}

// A point with `pair`; the other axes, in a random order, take the value that covers most of the
// pairs left.
Point PointWith(const std::vector<Axis>& axes, const std::vector<Refusal>& refusals,
                const Pair& pair, const std::set<Pair>& left, std::mt19937& random) {
  const auto& [i, j, a, b] = pair;
  Point point(axes);
  point.Set(i, a);
  point.Set(j, b);
  std::vector<size_t> order;
  for (size_t axis = 0; axis < axes.size(); ++axis)
    if (axis != i && axis != j) order.push_back(axis);
  std::shuffle(order.begin(), order.end(), random);
  for (const size_t axis : order) {
    int best = 0, most = -1;
    for (int v = 0; v < static_cast<int>(axes[axis].values.size()); ++v) {
      point.Set(axis, v);
      const int covered = RefusalOf(point, refusals) == nullptr ? Covers(point, left) : -1;
      if (covered > most || (covered == most && random() % 2 == 0)) {
        best = v;
        most = covered;
      }
    }
    point.Set(axis, best);
  }
  return point;
}

// `point`, with other values on axes where it meets refusals other than `r`.
Point WithoutOthers(Point point, const Refusal& r, const std::vector<Refusal>& refusals) {
  std::vector<Refusal> others;
  for (const Refusal& other : refusals)
    if (&other != &r) others.push_back(other);
  while (const Refusal* other = RefusalOf(point, others)) {
    const bool first = other->axis != r.axis && other->axis != r.other;
    const std::string& axis = first ? other->axis : other->other;
    TESSERA_CHECK(axis != r.axis && axis != r.other, "{} meets two refusals", point.Name());
    const size_t number = AxisNumber(point.axes(), axis);
    TESSERA_CHECK(point.value(number) + 1 < static_cast<int>(point.axes()[number].values.size()),
                  "{} meets two refusals", point.Name());
    point.Set(number, point.value(number) + 1);
  }
  return point;
}

}  // namespace

void Point::Set(const std::string& axis, const std::string& value) {
  const size_t number = AxisNumber(*axes_, axis);
  values_[number] = ValueNumber((*axes_)[number], value);
}

const std::string& Point::operator[](const std::string& axis) const {
  const size_t number = AxisNumber(*axes_, axis);
  return (*axes_)[number].values[static_cast<size_t>(values_[number])];
}

bool Point::Is(const std::string& axis, const std::string& values) const {
  return IsOneOf((*this)[axis], values);
}

std::string Point::Name() const {
  std::string name;
  for (size_t i = 0; i < values_.size(); ++i)
    if (values_[i] != 0)
      name += (name.empty() ? "" : " ") + (*axes_)[i].name + "=" +
              (*axes_)[i].values[static_cast<size_t>(values_[i])];
  return name.empty() ? "plain" : name;
}

Point Point::Named(const std::vector<Axis>& axes, const std::string& name) {
  Point point(axes);
  std::istringstream words(name == "plain" ? "" : name);
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    TESSERA_CHECK(equals != std::string::npos, "{}: expected axis=value", word);
    point.Set(word.substr(0, equals), word.substr(equals + 1));
  }
  return point;
}

size_t AxisNumber(const std::vector<Axis>& axes, const std::string& name) {
  const auto found =
      std::find_if(axes.begin(), axes.end(), [&](const Axis& a) { return a.name == name; });
  TESSERA_CHECK(found != axes.end(), "there is no axis {}", name);
  return static_cast<size_t>(found - axes.begin());
}

const Refusal* RefusalOf(const Point& point, const std::vector<Refusal>& refusals) {
  for (const Refusal& r : refusals)
    if (point.Is(r.axis, r.values) && point.Is(r.other, r.other_values)) return &r;
  return nullptr;
}

std::vector<Point> PointsOfAllPairs(const std::vector<Axis>& axes,
                                    const std::vector<Refusal>& refusals, unsigned seed) {
  std::mt19937 random(seed);
  std::set<Pair> left = AllPairs(axes, refusals);
  std::vector<Point> points;
  while (!left.empty()) {
    Point point = PointWith(axes, refusals, *left.begin(), left, random);
    for (int tries = 0; RefusalOf(point, refusals) != nullptr; ++tries) {
      TESSERA_CHECK(tries < 1000, "no point has the pair of {}", point.Name());
      point = PointWith(axes, refusals, *left.begin(), left, random);
    }
    points.push_back(point);
    for (size_t i = 0; i < axes.size(); ++i)
      for (size_t j = i + 1; j < axes.size(); ++j)
        left.erase({i, j, point.value(i), point.value(j)});
  }
  return points;
}

Point RandomPoint(const std::vector<Axis>& axes, const std::vector<Refusal>& refusals,
                  std::mt19937& random) {
  std::vector<size_t> order(axes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::shuffle(order.begin(), order.end(), random);
  Point point(axes);
  for (const size_t axis : order) {
    const int plain = point.value(axis);
    point.Set(axis, static_cast<int>(random() % axes[axis].values.size()));
    if (RefusalOf(point, refusals) != nullptr) point.Set(axis, plain);
  }
  return point;
}

std::vector<Point> RefusedPairs(const std::vector<Axis>& axes, const Refusal& refusal,
                                const std::vector<Refusal>& refusals) {
  std::vector<Point> points;
  for (const std::string& a : axes[AxisNumber(axes, refusal.axis)].values)
    for (const std::string& b : axes[AxisNumber(axes, refusal.other)].values) {
      Point point = Point::Named(axes, refusal.given);
      point.Set(refusal.axis, a);
      point.Set(refusal.other, b);
      if (point.Is(refusal.axis, refusal.values) && point.Is(refusal.other, refusal.other_values))
        points.push_back(WithoutOthers(point, refusal, refusals));
    }
  return points;
}

}  // namespace tessera::testing
