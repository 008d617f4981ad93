#include "data/schema/dense_transform.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "runtime/base/check.h"
#include "runtime/numbers/math.h"

namespace tessera {
namespace {

using Kind = DenseTransform::Kind;

constexpr std::string_view kPlus = "log+";

double LogOfPositive(double x) { return x > 0 ? Log(x) : std::numeric_limits<double>::quiet_NaN(); }

}  // namespace

double DenseTransform::Apply(double x, double smallest) const {
  switch (kind) {
    case Kind::kLog1p:
      return Log1p(std::max(x, 0.0));
    case Kind::kLogPlus:
      return LogOfPositive(x + static_cast<double>(shift));
    case Kind::kLogFromMin:
      return LogOfPositive(x - smallest + 2);
    case Kind::kAsIs:
      return x;
  }
  TESSERA_FAIL("transform {}", static_cast<int>(kind));
}

DenseTransform ParseDenseTransform(const std::string& name) {
  for (const Kind kind : {Kind::kLog1p, Kind::kLogFromMin, Kind::kAsIs})
    if (const DenseTransform transform{kind}; name == ToString(transform)) return transform;
  DenseTransform plus{Kind::kLogPlus};
  if (name.starts_with(kPlus)) {
    const char* const end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + kPlus.size(), end, plus.shift);
    if (error == std::errc() && stop == end) return plus;
  }
  throw Error(
      Format("numbers '{}': expected log1p, log+C with an integer C, log_from_min or as_is", name));
}

std::string ToString(const DenseTransform& transform) {
  switch (transform.kind) {
    case Kind::kLog1p:
      return "log1p";
    case Kind::kLogPlus:
      return Format("log+{}", transform.shift);
    case Kind::kLogFromMin:
      return "log_from_min";
    case Kind::kAsIs:
      return "as_is";
  }
  TESSERA_FAIL("transform {}", static_cast<int>(transform.kind));
}

}  // namespace tessera
