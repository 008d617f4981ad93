#include "sparse/histogram_binning_calibration.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/device/dispatch.h"
#include "runtime/for_each.h"
#include "runtime/numbers/math.h"
#include "sparse/histogram_binning_calibration_impl.h"
#include "sparse/ops/naming_op.h"
#include "sparse/ops/segments.h"

namespace tessera {
namespace internal {

template <typename Bin>
void Calibrate(OnCpu on, Context& ctx, int64_t samples, const CalibrateSample<Bin>& calibrate) {
  ForEach(on, ctx, samples, 1 << 12, calibrate);
}

}  // namespace internal

namespace {

using internal::BoundaryBins;
using internal::EqualBins;

// The segments of the samples as i64; the tensors are undefined if there is one segment.
struct SampleSegments {
  Tensor values, offsets;
  int64_t num_segments = 0;

  SampleSegments() = default;
  SampleSegments(Context& ctx, const HistogramSegments& segments, int64_t samples)
      : num_segments(segments.num_segments) {
    CheckDevice(ctx, "calibration", segments.value, segments.lengths);
    if (num_segments < 0) throw Error(Format("num_segments {}; expected 0 or more", num_segments));
    if (segments.lengths.numel() != samples)
      throw Error(Format("lengths of segments {}; expected {}, one a sample",
                         segments.lengths.shape(), samples));
    VisitIndexType(segments.value.dtype(), "values of segments", []<typename T>() {});
    values = segments.value.Contiguous(ctx).To(ctx, DType::kI64);
    offsets =
        SegmentsOverLengths(ctx, segments.lengths, values.numel(), "lengths of segments").offsets;
  }
  internal::SegmentOfSample view() const {
    if (!offsets.defined()) return {nullptr, nullptr, 0};
    return {values.data<int64_t>(), offsets.data<int64_t>(), num_segments};
  }
};

template <typename Bin>
Calibrated Calibrate(Context& ctx, const Tensor& logit, const HistogramBins& bins,
                     const SampleSegments& segments, int64_t num_bins, const Bin& bin) {
  CheckDevice(ctx, "calibration", logit, bins.num_examples, bins.num_positives);
  if (logit.rank() != 1) throw Error(Format("logit {}; expected [N]", logit.shape()));
  if (!(bins.positive_weight > 0))
    throw Error(Format("positive_weight {}; expected above 0", bins.positive_weight));
  const Shape shape = {num_bins * (segments.num_segments + 1)};
  if (bins.num_examples.shape() != shape || bins.num_positives.shape() != shape)
    throw Error(
        Format("bin_num_examples {} and bin_num_positives {}; expected {} twice, {} bins "
               "of each segment and of none",
               bins.num_examples.shape(), bins.num_positives.shape(), shape, num_bins));
  const Tensor in = logit.Contiguous(ctx).To(ctx, DType::kF64);
  const Tensor examples = bins.num_examples.Contiguous(ctx),
               positives = bins.num_positives.Contiguous(ctx);
  Tensor y = Tensor::Empty(ctx, in.shape(), DType::kF64),
         ids = Tensor::Empty(ctx, in.shape(), DType::kI64);
  const internal::CalibrateSample<Bin> calibrate = {segments.view(),
                                                    num_bins,
                                                    bin,
                                                    in.data<double>(),
                                                    examples.data<double>(),
                                                    positives.data<double>(),
                                                    Log(bins.positive_weight),
                                                    static_cast<double>(bins.bin_ctr_in_use_after),
                                                    bins.bin_ctr_weight_value,
                                                    y.data<double>(),
                                                    ids.data<int64_t>()};
  DispatchDevice(ctx.device(),
                 [&](auto on) { internal::Calibrate(on, ctx, in.dim(0), calibrate); });
  return {y.To(ctx, logit.dtype()), ids};
}

EqualBins MakeEqualBins(double lower, double upper, int64_t bins) {
  TESSERA_CHECK(bins > 0 && upper > lower, "{} bins between {} and {}", bins, lower, upper);
  return {lower, (upper - lower) / static_cast<double>(bins), bins};
}

}  // namespace

Calibrated HistogramBinningCalibration(Context& ctx, const Tensor& logit, const HistogramBins& bins,
                                       double lower_bound, double upper_bound) {
  return internal::NamingOp("HistogramBinningCalibration", [&]() -> Calibrated {
    const int64_t num_bins = bins.num_examples.numel();
    return Calibrate(ctx, logit, bins, {}, num_bins,
                     MakeEqualBins(lower_bound, upper_bound, num_bins));
  });
}

Calibrated HistogramBinningCalibrationByFeature(Context& ctx, const Tensor& logit,
                                                const HistogramBins& bins,
                                                const HistogramSegments& segments, int64_t num_bins,
                                                double lower_bound, double upper_bound) {
  return internal::NamingOp("HistogramBinningCalibrationByFeature", [&]() -> Calibrated {
    return Calibrate(ctx, logit, bins, SampleSegments(ctx, segments, logit.numel()), num_bins,
                     MakeEqualBins(lower_bound, upper_bound, num_bins));
  });
}

Calibrated GenericHistogramBinningCalibrationByFeature(Context& ctx, const Tensor& logit,
                                                       const HistogramBins& bins,
                                                       const HistogramSegments& segments,
                                                       const Tensor& bin_boundaries) {
  return internal::NamingOp("GenericHistogramBinningCalibrationByFeature", [&]() -> Calibrated {
    CheckDevice(ctx, "calibration", bin_boundaries);
    if (bin_boundaries.rank() != 1)
      throw Error(Format("bin_boundaries {}; expected [n]", bin_boundaries.shape()));
    const Tensor at = bin_boundaries.Contiguous(ctx);
    const BoundaryBins bin = {at.data<double>(), at.dim(0)};
    if (ctx.device() == Device::Cpu())
      TESSERA_CHECK(std::is_sorted(bin.boundaries, bin.boundaries + bin.count),
                    "bin_boundaries do not ascend");
    return Calibrate(ctx, logit, bins, SampleSegments(ctx, segments, logit.numel()), at.dim(0) + 1,
                     bin);
  });
}

}  // namespace tessera
