#ifndef TESSERA_TESTS_CROSSINGS_POINT_H_
#define TESSERA_TESTS_CROSSINGS_POINT_H_
// A point of a space of features: one value of each axis. Points are numbers and names alone; what
// they mean is said where they are run (tables_run.h, training_run.h).
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace tessera::testing {

// The first value of an axis is its plain one.
struct Axis {
  std::string name;
  std::vector<std::string> values;
};

class Point {
 public:
  // Every axis at its plain value.
  explicit Point(const std::vector<Axis>& axes) : axes_(&axes), values_(axes.size(), 0) {}

  const std::vector<Axis>& axes() const { return *axes_; }
  int value(size_t axis) const { return values_[axis]; }
  void Set(size_t axis, int value) { values_[axis] = value; }
  // Throws Error for an axis or a value that there is not.
  void Set(const std::string& axis, const std::string& value);
  const std::string& operator[](const std::string& axis) const;
  // "a" or "a|b": one of these.
  bool Is(const std::string& axis, const std::string& values) const;
  bool operator==(const Point& other) const { return values_ == other.values_; }

  // "rule=Adam pooling=NONE": what is not plain.
  std::string Name() const;
  // The inverse.
  static Point Named(const std::vector<Axis>& axes, const std::string& name);

 private:
  const std::vector<Axis>* axes_;
  std::vector<int> values_;
};

size_t AxisNumber(const std::vector<Axis>& axes, const std::string& name);
// Why two features do not go together: a point with one of `values` on `axis` and one of
// `other_values` on `other` is refused before it starts.
struct Refusal {
  std::string axis, values, other, other_values;
  std::string says;        // a part of the error's sentence, which names both
  std::string reason;      // for crossings.md
  std::string given = "";  // "sharding=row_wise": what a point needs for that
};
// The first of `refusals` that is in `point`; null if there is none.
const Refusal* RefusalOf(const Point& point, const std::vector<Refusal>& refusals);

// Points without refusals such that each pair of values of two axes, but those that are refused, is
// in one of them. The same for the same seed.
std::vector<Point> PointsOfAllPairs(const std::vector<Axis>& axes,
                                    const std::vector<Refusal>& refusals, unsigned seed);
// Any point without refusals.
Point RandomPoint(const std::vector<Axis>& axes, const std::vector<Refusal>& refusals,
                  std::mt19937& random);
// A point for each pair of values that `refusal` names; other axes are plain, unless `refusals` has
// another one of that.
std::vector<Point> RefusedPairs(const std::vector<Axis>& axes, const Refusal& refusal,
                                const std::vector<Refusal>& refusals);

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_CROSSINGS_POINT_H_
