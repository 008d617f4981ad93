#include "runtime/launch.cuh"
#include "runtime/tensor.h"
#include "runtime/vector.cuh"
#include "tests/bench/lab/broken_lookup.h"

namespace tessera::bench {
namespace {

constexpr int kThreads = 64, kWarp = 32, kWarps = kThreads / kWarp;

struct Sums {
  const LookupFeature& f;
  const float* weights;
  const CudaFaults& faults;
  int64_t* staged;  // the warp's id
  int lane;

  __device__ float Number(int64_t i, int64_t id) const {
    const int column = faults.lane && lane == kWarp - 1 ? lane - 1 : lane;
    const float weight = weights[faults.weight && i > 0 ? i - 1 : i];
    return weight * f.RowAt<float>(id)[column];
  }
  __device__ void Add(int64_t i, float* sum) const {
    if (lane == 0) *staged = static_cast<const int64_t*>(f.ids.data)[i];
    if (!faults.no_barrier) __syncwarp();
    int64_t id = *static_cast<volatile int64_t*>(staged);
    __syncwarp();
    if (faults.negative && id == -1) id = 0;
    if (faults.past_table && id == f.num_rows)
      static_cast<void>(*static_cast<const volatile float*>(f.RowAt<float>(id)));
    if (!IsRow(id, f.num_rows) || (faults.last_row && id == f.num_rows - 1)) return;
    *sum = *sum + Number(i, id);
    if (faults.type) *sum = internal::WidenHalf(internal::NarrowToHalf(*sum));
  }
  __device__ void AddAll(int64_t begin, int64_t end, volatile float* sum) const {
    *sum = 0;
    for (int64_t i = begin; i < end; ++i) Add(i, const_cast<float*>(sum));
  }
};

__global__ void BrokenKernel(LookupFeature f, IndexArray offsets, const float* weights,
                             float* scratch, CudaFaults faults) {
  __shared__ int64_t staged[kWarps];
  __shared__ float shared_sums[kThreads];
  const int lane = static_cast<int>(threadIdx.x) % kWarp,
            warp = static_cast<int>(threadIdx.x) / kWarp;
  const int64_t bag = static_cast<int64_t>(blockIdx.x) * kWarps + warp;
  if (bag >= f.num_bags) return;
  const int64_t begin = offsets[f.first_bag + bag];
  int64_t end = offsets[f.first_bag + bag + 1];
  if (faults.empty && begin == end) return;
  if (faults.boundary && end - begin > 200) --end;
  staged[warp] = -1;
  __syncwarp();
  const Sums sums = {f, weights, faults, staged + warp, lane};
  float* sum = shared_sums + (faults.warps_share ? lane : static_cast<int>(threadIdx.x));
  if (faults.blocks_share) sum = scratch + threadIdx.x;
  const int64_t half = faults.order ? begin + (end - begin) / 2 : end;
  sums.AddAll(begin, half, sum);
  const float first = *static_cast<volatile float*>(sum);
  if (faults.order) sums.AddAll(half, end, sum);
  float* output =
      faults.stride ? static_cast<float*>(f.output) + bag * f.dim : f.OutputAt<float>(bag);
  output[lane] = faults.order ? first + *sum : first;
  if (faults.beside && bag == f.num_bags - 1) output[kWarp] = 1;
}

void Lookup(Context& ctx, const LookupArgs& args, const CudaFaults& faults) {
  const Tensor scratch = Tensor::Empty(ctx, {kThreads});
  for (const LookupFeature& f : args.features) {
    CudaFaults own = faults;
    own.beside = faults.beside && &f == &args.features.back();
    internal::Launch(ctx, BrokenKernel, internal::BlocksFor(f.num_bags, kWarps), dim3(kThreads), 0,
                     f, args.offsets, args.weights, scratch.data<float>(), own);
  }
}

}  // namespace

CudaLookup BrokenLookup(const CudaFaults& faults) {
  return [faults](Context& ctx, const LookupArgs& args) { Lookup(ctx, args, faults); };
}

}  // namespace tessera::bench
