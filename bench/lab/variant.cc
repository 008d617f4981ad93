#include "bench/lab/variant.h"

#include <algorithm>
#include <string>
#include <vector>

#include "bench/embedding/bare_loops.h"
#include "bench/embedding/shape_axes.h"
#include "runtime/base/check.h"
#include "runtime/base/joined.h"

namespace tessera::bench {
namespace {

// "" unless the topic has the axis and the point none of these values of it.
std::string OtherThan(const Point& point, const std::string& axis,
                      const std::vector<std::string>& values) {
  if (!point.Has(axis) || std::ranges::find(values, point.Text(axis)) != values.end()) return "";
  return Format("--{} {} (it takes {})", axis, point.Text(axis), internal::Joined(values));
}

std::string BareDimsText() {
  std::vector<std::string> dims;
  for (const int64_t dim : kBareDims) dims.push_back(std::to_string(dim));
  return internal::Joined(dims);
}

// The dims of the point's tables.
std::vector<int64_t> DimsOf(const Point& point) {
  std::vector<int64_t> dims;
  if (!point.Has("dim")) return dims;
  const Shape shape = ShapeOf(point);
  for (size_t t = 0; t < shape.rows.size(); ++t) dims.push_back(shape.DimOf(t));
  return dims;
}

}  // namespace

std::string NotTaken(const Takes& takes, const Point& point) {
  if (!takes.any_dim)
    for (const int64_t dim : DimsOf(point))
      if (!IsBareDim(dim)) return Format("--dim {} (it takes {})", dim, BareDimsText());
  std::string other;
  for (const char* of : {"row-type", "output-type", "state-type"})
    if (!takes.any_type && other.empty()) other = OtherThan(point, of, {"f32"});
  if (!takes.any_codec && other.empty()) other = OtherThan(point, "codec", {"int8"});
  if (!takes.weights && other.empty()) other = OtherThan(point, "weighted", {"no"});
  if (!other.empty()) return other;
  std::vector<std::string> modes = {"sum"};
  if (takes.mean) modes.emplace_back("mean");
  if (takes.sequences) modes.emplace_back("none");
  return OtherThan(point, "mode", modes);
}

}  // namespace tessera::bench
