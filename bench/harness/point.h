#ifndef TESSERA_BENCH_HARNESS_POINT_H_
#define TESSERA_BENCH_HARNESS_POINT_H_
// One place of a sweep: a value for every axis of its topic, and what makes values sound.
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tessera::bench {

// Numbers as flags have them: "1M" (10^6), "64k" (10^3), "2G" (10^9), "4Ki", "1Mi", "1Gi" (2^10,
// 2^20, 2^30), "1e6". Throws Error for what is no whole number, naming it.
int64_t ParseWhole(const std::string& text);
double ParseNumber(const std::string& text);

using PointValues = std::vector<std::pair<std::string, std::string>>;  // by axis

class Point {
 public:
  Point() = default;
  // label: the case's name in a suite; "": made from the values that differ.
  explicit Point(std::string label, PointValues values)
      : label_(std::move(label)), values_(std::move(values)) {}

  const std::string& label() const { return label_; }
  const PointValues& values() const { return values_; }
  // A copy that remembers the axes whose values it is asked for; copies of it share the memory.
  Point Watched() const;
  // REQUIRES: of Watched.
  bool WasAsked(const std::string& axis) const { return asked_->contains(axis); }
  bool Has(const std::string& axis) const;
  // Throw Error where the topic has no such axis, or the value is no such number, naming both.
  const std::string& Text(const std::string& axis) const;
  int64_t Int(const std::string& axis) const;
  double Number(const std::string& axis) const;
  bool Flag(const std::string& axis) const;  // "yes" or "no"

 private:
  std::string label_;
  PointValues values_;
  std::shared_ptr<std::set<std::string>> asked_ = nullptr;
};

inline constexpr int64_t kAnyWhole = int64_t{1} << 53;  // above all that ParseWhole gives

// For Axis::check: whole numbers from low to high; any number in that range; one of the words.
std::function<void(const std::string&)> WholeFrom(int64_t low, int64_t high = kAnyWhole);
std::function<void(const std::string&)> NumberFrom(double low, double high);
std::function<void(const std::string&)> OneOf(std::vector<std::string> words);
// "yes" or "no".
std::function<void(const std::string&)> YesOrNo();

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_HARNESS_POINT_H_
