#include "bench/lab/variant.h"

#include "bench/embedding/bare_loops.h"
#include "bench/embedding/shape_axes.h"
#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

// "" unless the topic has the axis and the point another value than this.
std::string OtherThan(const Point& point, const std::string& axis, const std::string& value) {
  if (!point.Has(axis) || point.Text(axis) == value) return "";
  return Format("--{} {}", axis, point.Text(axis));
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
      if (!IsBareDim(dim)) return Format("--dim {}", dim);
  std::string other;
  for (const char* of : {"row-type", "output-type", "state-type"})
    if (!takes.any_type && other.empty()) other = OtherThan(point, of, "f32");
  if (!takes.any_codec && other.empty()) other = OtherThan(point, "codec", "int8");
  if (!takes.weights && other.empty()) other = OtherThan(point, "weighted", "no");
  if (!other.empty()) return other;
  const std::string mode = OtherThan(point, "mode", "sum");
  return (takes.mean && mode == "--mode mean") || (takes.sequences && mode == "--mode none") ? ""
                                                                                             : mode;
}

}  // namespace tessera::bench
