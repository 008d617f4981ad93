// Rules, lane order and random numbers are written once for every machine: under --config=cuda nvcc
// compiles them for the device here, so that none of them can come to use what a GPU lacks. Nothing
// is launched.
#include "optim/any_rule.h"
#include "runtime/lanes.h"
#include "runtime/random.h"

namespace tessera {

template <typename Step>
__global__ void UpdateElement(Step step, float* w, const float* g, float* element_state,
                              float* row_state) {
  float lane[kLanes] = {};
  if constexpr (Step::kHasStatistic) lane[0] = step.Statistic(*g, *w);
  const auto row = step.BeginRow(FoldLanes(lane), 1, row_state);
  step.Update(row, *w, *g, element_state);
}

template __global__ void UpdateElement(Sgd::Step, float*, const float*, float*, float*);
template __global__ void UpdateElement(Adagrad::Step, float*, const float*, float*, float*);
template __global__ void UpdateElement(RowwiseAdagrad::Step, float*, const float*, float*, float*);
template __global__ void UpdateElement(Adam::Step, float*, const float*, float*, float*);
template __global__ void UpdateElement(PartialRowwiseAdam::Step, float*, const float*, float*,
                                       float*);

__global__ void DrawUniform(uint64_t seed, uint64_t sequence, float* out) {
  out[threadIdx.x] = UniformFloat(Philox(seed, sequence, threadIdx.x).v[0]);
}

}  // namespace tessera
