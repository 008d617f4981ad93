#ifndef TESSERA_SPARSE_HISTOGRAM_BINNING_CALIBRATION_H_
#define TESSERA_SPARSE_HISTOGRAM_BINNING_CALIBRATION_H_
// Corrects predicted probabilities by the click rate that was observed in their bin:
//
//   p = σ(logit + ln positive_weight)
//   y = w·positives[bin] / examples[bin] + (1 − w)·p   if examples[bin] > bin_ctr_in_use_after
//   y = p                                              else
//
// Computed in double. No gradient: it comes after training. Never waits; on a device lengths that
// don't sum to the values, and boundaries that don't ascend, go unnoticed.
#include "runtime/tensor.h"

namespace tessera {

struct HistogramBins {
  Tensor num_examples, num_positives;  // f64, one a bin (of all segments, segment by segment)
  double positive_weight = 1;
  int64_t bin_ctr_in_use_after = 0;
  double bin_ctr_weight_value = 1;  // w
};

// Segments make bins of their own: sample i has the values of segment i of `value` (i32 or i64);
// its segment is value + 1 if it has exactly one value, else 0; one outside [0, num_segments]
// counts as 0.
struct HistogramSegments {
  Tensor value, lengths;
  int64_t num_segments = 0;
};

struct Calibrated {
  Tensor y;        // dtype of logit
  Tensor bin_ids;  // i64
};

// Bins of equal width: ⌈(p − lower)/step⌉ − 1, step = (upper − lower) / bins, kept within the bins.
// (FBGEMM takes p / step, whatever the lower bound.)
// logit [n] f32 or f64.
Calibrated HistogramBinningCalibration(Context& ctx, const Tensor& logit, const HistogramBins& bins,
                                       double lower_bound = 0, double upper_bound = 1);
// num_bins bins for each of num_segments + 1 segments.
Calibrated HistogramBinningCalibrationByFeature(Context& ctx, const Tensor& logit,
                                                const HistogramBins& bins,
                                                const HistogramSegments& segments, int64_t num_bins,
                                                double lower_bound = 0, double upper_bound = 1);
// The bin is the number of boundaries (f64, ascending) below p; there is one bin more than
// boundaries.
Calibrated GenericHistogramBinningCalibrationByFeature(Context& ctx, const Tensor& logit,
                                                       const HistogramBins& bins,
                                                       const HistogramSegments& segments,
                                                       const Tensor& bin_boundaries);

}  // namespace tessera
#endif  // TESSERA_SPARSE_HISTOGRAM_BINNING_CALIBRATION_H_
