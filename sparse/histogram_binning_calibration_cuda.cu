#include "runtime/context.h"
#include "runtime/launch.cuh"
#include "sparse/histogram_binning_calibration_impl.h"

namespace tessera::internal {

template <typename Bin>
void Calibrate(OnCuda, Context& ctx, int64_t samples, const CalibrateSample<Bin>& calibrate) {
  ForEach(ctx, samples, calibrate);
}

template void Calibrate(OnCuda, Context&, int64_t, const CalibrateSample<EqualBins>&);
template void Calibrate(OnCuda, Context&, int64_t, const CalibrateSample<BoundaryBins>&);

}  // namespace tessera::internal
