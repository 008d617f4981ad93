#include "embedding/managed_collision/admission_filter.h"

#include <numeric>

#include "runtime/base/check.h"
#include "runtime/numbers/math.h"

namespace tessera {

AdmissionFilter DynamicThresholdFilter(double skew_multiplier) {
  return [skew_multiplier](Context&, std::span<const int64_t> counts) {
    const int64_t total = std::accumulate(counts.begin(), counts.end(), int64_t{0});
    const double threshold =
        skew_multiplier * (static_cast<double>(total) / static_cast<double>(counts.size()));
    std::vector<bool> admitted;
    for (const int64_t count : counts) admitted.push_back(static_cast<double>(count) > threshold);
    return admitted;
  };
}

AdmissionFilter AverageThresholdFilter() { return DynamicThresholdFilter(1); }

AdmissionFilter ProbabilisticThresholdFilter(double per_id_probability) {
  TESSERA_CHECK(per_id_probability >= 0 && per_id_probability <= 1,
                "probabilistic admission: a probability of {}", per_id_probability);
  return [p = per_id_probability](Context& ctx, std::span<const int64_t> counts) {
    const uint64_t seed = ctx.random().seed(), sequence = ctx.random().TakeSequence();
    std::vector<bool> admitted;
    for (size_t i = 0; i < counts.size(); ++i) {
      const PhiloxBits bits = Philox(seed, sequence, i);
      admitted.push_back(1 - PowInteger(1 - p, counts[i]) > UniformDouble(bits.v[0], bits.v[1]));
    }
    return admitted;
  };
}

}  // namespace tessera
