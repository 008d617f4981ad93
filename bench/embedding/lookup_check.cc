#include "bench/embedding/lookup_check.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

constexpr int64_t kChecked = 64;  // outputs of a feature
constexpr double kTolerance = 1e-5;

// Column d of ids first … last − 1, pooled.
double Expected(const LookupArgs& args, const LookupFeature& f, int64_t first, int64_t last,
                int64_t d) {
  const bool weighted = args.weights != nullptr && f.pooling != PoolingType::kNone;
  double sum = 0;
  for (int64_t i = first; i < last; ++i)
    sum += static_cast<double>(f.RowAt<float>(f.ids[i])[d]) *
           (weighted ? static_cast<double>(args.weights[i]) : 1.0);
  const bool mean = f.pooling == PoolingType::kMean && last > first;
  return mean ? sum / static_cast<double>(last - first) : sum;
}

void CheckOutput(const LookupArgs& args, size_t feature, int64_t output, int64_t first,
                 int64_t last) {
  const LookupFeature& f = args.features[feature];
  const float* row = f.OutputAt<float>(output);
  for (int64_t d = 0; d < f.dim; ++d) {
    const double expected = Expected(args, f, first, last, d);
    TESSERA_CHECK(std::abs(row[d] - expected) <= kTolerance * (1 + std::abs(expected)),
                  "feature {}, output {}, column {}: expected {}, got {}", feature, output, d,
                  expected, row[d]);
  }
}

}  // namespace

void CheckLookup(const LookupArgs& args) {
  for (size_t k = 0; k < args.features.size(); ++k) {
    const LookupFeature& f = args.features[k];
    const int64_t first_id = args.offsets[f.first_bag];
    const bool none = f.pooling == PoolingType::kNone;
    const int64_t outputs = none ? args.offsets[f.first_bag + f.num_bags] - first_id : f.num_bags;
    const int64_t checked = std::min(outputs, kChecked);
    for (int64_t c = 0; c < checked; ++c) {
      const int64_t output = checked > 1 ? c * (outputs - 1) / (checked - 1) : 0;
      const int64_t bag = f.first_bag + output;
      CheckOutput(args, k, output, none ? first_id + output : args.offsets[bag],
                  none ? first_id + output + 1 : args.offsets[bag + 1]);
    }
  }
}

}  // namespace tessera::bench
