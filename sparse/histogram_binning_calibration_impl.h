#ifndef TESSERA_SPARSE_HISTOGRAM_BINNING_CALIBRATION_IMPL_H_
#define TESSERA_SPARSE_HISTOGRAM_BINNING_CALIBRATION_IMPL_H_
// The formula of histogram_binning_calibration.h, for one sample.

#include "runtime/base/host_device.h"
#include "runtime/context.h"
#include "runtime/device/device.h"
#include "runtime/numbers/math.h"
#include "sparse/ops/search.h"

namespace tessera::internal {

struct EqualBins {
  double lower, step;
  int64_t bins;
  TESSERA_HD int64_t operator()(double p) const {
    const double place = ceil((p - lower) / step) - 1, last = static_cast<double>(bins - 1);
    return !(place > 0) ? 0 : static_cast<int64_t>(place < last ? place : last);
  }
};

struct BoundaryBins {
  const double* boundaries;
  int64_t count;
  TESSERA_HD int64_t operator()(double p) const {
    return CountBefore(boundaries, count, p, /*or_equal=*/false);
  }
};

// There is one segment if offsets are nullptr.
struct SegmentOfSample {
  const int64_t *values, *offsets;
  int64_t num_segments;
  TESSERA_HD int64_t operator()(int64_t i) const {
    if (offsets == nullptr || offsets[i + 1] - offsets[i] != 1) return 0;
    const int64_t value = values[offsets[i]];
    return value >= 0 && value < num_segments ? value + 1 : 0;
  }
};

// bin(p) in [0, num_bins); the bins of segment s begin at s·num_bins.
template <typename Bin>
struct CalibrateSample {
  SegmentOfSample segment;
  int64_t num_bins;
  Bin bin;
  const double *logits, *examples, *positives;
  double shift, in_use_after, weight;
  double* y;
  int64_t* ids;
  TESSERA_HD void operator()(int64_t i) const {
    const double p = 1 / (1 + Exp(-(logits[i] + shift)));
    const int64_t id = segment(i) * num_bins + bin(p);
    ids[i] = id;
    y[i] = examples[id] > in_use_after ? weight * (positives[id] / examples[id]) + (1 - weight) * p
                                       : p;
  }
};

template <typename Bin>
void Calibrate(OnCpu, Context& ctx, int64_t samples, const CalibrateSample<Bin>& calibrate);
template <typename Bin>
void Calibrate(OnCuda, Context& ctx, int64_t samples, const CalibrateSample<Bin>& calibrate);

}  // namespace tessera::internal
#endif  // TESSERA_SPARSE_HISTOGRAM_BINNING_CALIBRATION_IMPL_H_
