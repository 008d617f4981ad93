#include "bench/lab/variant.h"

#include "bench/embedding/bare_loops.h"
#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

// "" unless the topic has the axis and the point another value than this.
std::string OtherThan(const Point& point, const std::string& axis, const std::string& value) {
  if (!point.Has(axis) || point.Text(axis) == value) return "";
  return Format("--{} {}", axis, point.Text(axis));
}

}  // namespace

std::string NotTaken(const Takes& takes, const Point& point) {
  if (!takes.any_dim && point.Has("dim") && !IsBareDim(point.Int("dim")))
    return Format("--dim {}", point.Text("dim"));
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
