#include "sparse/histogram_binning_calibration.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "sparse/row_runs.h"
#include "sparse/segments.h"

namespace tessera {
namespace {

constexpr int64_t kSamples = 1 << 12;

// The segment of each sample.
std::vector<int64_t> SegmentsOf(const HistogramSegments& segments, int64_t samples) {
  const std::vector<int64_t> offsets = OffsetsOfLengths(segments.lengths),
                             values = ToInt64(segments.value);
  TESSERA_CHECK_EQ(static_cast<int64_t>(offsets.size()) - 1, samples,
                   "calibration: segment lengths, one a sample");
  TESSERA_CHECK_EQ(offsets.back(), static_cast<int64_t>(values.size()),
                   "calibration: the sum of segment lengths, and values");
  std::vector<int64_t> result(static_cast<size_t>(samples));
  for (size_t i = 0; i < result.size(); ++i) {
    if (offsets[i + 1] - offsets[i] != 1) continue;
    const int64_t value = values[static_cast<size_t>(offsets[i])];
    if (value >= 0 && value < segments.num_segments) result[i] = value + 1;
  }
  return result;
}

// bin(p) in [0, num_bins); sample i's bins begin at segment(i)·num_bins.
template <typename Bin>
Calibrated Calibrate(Context& ctx, const Tensor& logit, const HistogramBins& bins,
                     const std::vector<int64_t>& segments, int64_t num_segments, int64_t num_bins,
                     Bin bin) {
  TESSERA_CHECK_EQ(logit.rank(), 1, "calibration: logit {}", logit.shape());
  TESSERA_CHECK(bins.positive_weight > 0, "calibration: positive_weight {}", bins.positive_weight);
  const Shape shape = {num_bins * num_segments};
  TESSERA_CHECK_EQ(bins.num_examples.shape(), shape,
                   "calibration: bin_num_examples, bins of all segments");
  TESSERA_CHECK_EQ(bins.num_positives.shape(), shape,
                   "calibration: bin_num_positives, bins of all segments");
  const Tensor in = logit.Contiguous(ctx).To(ctx, DType::kF64);
  const Tensor examples = bins.num_examples.Contiguous(ctx),
               positives = bins.num_positives.Contiguous(ctx);
  Tensor y = Tensor::Empty(ctx, in.shape(), DType::kF64),
         ids = Tensor::Empty(ctx, in.shape(), DType::kI64);
  const double shift = std::log(bins.positive_weight), w = bins.bin_ctr_weight_value;
  const double *logits = in.data<double>(), *seen = examples.data<double>(),
               *clicked = positives.data<double>();
  double* calibrated = y.data<double>();
  int64_t* id_of = ids.data<int64_t>();
  ParallelFor(ctx, in.dim(0), kSamples, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double p = 1 / (1 + std::exp(-(logits[i] + shift)));
      const int64_t segment = segments.empty() ? 0 : segments[static_cast<size_t>(i)];
      const int64_t id = segment * num_bins + bin(p);
      id_of[i] = id;
      calibrated[i] = seen[id] > static_cast<double>(bins.bin_ctr_in_use_after)
                          ? w * (clicked[id] / seen[id]) + (1 - w) * p
                          : p;
    }
  });
  return {y.To(ctx, logit.dtype()), ids};
}

// Equal bins, as a function of p.
auto EqualBins(double lower, double upper, int64_t bins) {
  TESSERA_CHECK(bins > 0 && upper > lower, "calibration: {} bins between {} and {}", bins, lower,
                upper);
  const double step = (upper - lower) / static_cast<double>(bins);
  return [lower, step, bins](double p) {
    const double place = std::ceil((p - lower) / step) - 1;
    return !(place > 0) ? int64_t{0}
                        : static_cast<int64_t>(std::min(place, static_cast<double>(bins - 1)));
  };
}

}  // namespace

Calibrated HistogramBinningCalibration(Context& ctx, const Tensor& logit, const HistogramBins& bins,
                                       double lower_bound, double upper_bound) {
  const int64_t num_bins = bins.num_examples.numel();
  return Calibrate(ctx, logit, bins, {}, 1, num_bins,
                   EqualBins(lower_bound, upper_bound, num_bins));
}

Calibrated HistogramBinningCalibrationByFeature(Context& ctx, const Tensor& logit,
                                                const HistogramBins& bins,
                                                const HistogramSegments& segments, int64_t num_bins,
                                                double lower_bound, double upper_bound) {
  return Calibrate(ctx, logit, bins, SegmentsOf(segments, logit.numel()), segments.num_segments + 1,
                   num_bins, EqualBins(lower_bound, upper_bound, num_bins));
}

Calibrated GenericHistogramBinningCalibrationByFeature(Context& ctx, const Tensor& logit,
                                                       const HistogramBins& bins,
                                                       const HistogramSegments& segments,
                                                       const Tensor& bin_boundaries) {
  TESSERA_CHECK_EQ(bin_boundaries.rank(), 1, "calibration: bin_boundaries {}",
                   bin_boundaries.shape());
  const std::vector<double> at = bin_boundaries.ToVector<double>();
  TESSERA_CHECK(std::is_sorted(at.begin(), at.end()), "calibration: bin_boundaries do not ascend");
  return Calibrate(ctx, logit, bins, SegmentsOf(segments, logit.numel()), segments.num_segments + 1,
                   static_cast<int64_t>(at.size()) + 1, [&at](double p) {
                     return std::lower_bound(at.begin(), at.end(), p) - at.begin();
                   });
}

}  // namespace tessera
