// The obvious kernel: a warp a bag, a row at a time, columns lane, lane + 32, … of 4 or 2 bytes
// each. Neighbouring lanes read neighbouring columns, so its requests are dense; but each row is
// waited for before the next is asked for, and at 16 columns half of the lanes have nothing to do.
// It takes every shape of pooled bags.
#include "bench/lab/cuda/cuda_variant.h"
#include "runtime/context.h"
#include "runtime/launch.cuh"
#include "runtime/vector.cuh"

namespace tessera::bench {
namespace {

using internal::Launch;
using internal::ToFloat;
using internal::Vector;

constexpr int kWarp = 32;

template <typename Row>
__device__ float SumColumn(const LookupFeature& f, const float* weights, int64_t begin, int64_t end,
                           int64_t column) {
  float sum = 0;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t id = f.ids[i];
    if (!IsRow(id, f.num_rows)) continue;
    const float number = ToFloat(f.RowAt<Row>(id)[column]);
    sum = sum + (weights == nullptr ? number : weights[i] * number);
  }
  const bool mean = f.pooling == PoolingType::kMean && end > begin;
  return mean ? sum / static_cast<float>(end - begin) : sum;
}

template <typename Row, typename Out>
__global__ void WarpPerBag(LookupFeature f, IndexArray offsets, const float* weights) {
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t bag = thread / kWarp;
  if (bag >= f.num_bags) return;
  const int64_t begin = offsets[f.first_bag + bag], end = offsets[f.first_bag + bag + 1];
  for (int64_t column = thread % kWarp; column < f.dim; column += kWarp)
    StreamVector(f.OutputAt<Out>(bag) + column,
                 Vector<1>{{SumColumn<Row>(f, weights, begin, end, column)}});
}

// Calls fn.operator()<T>() with the C++ type of rows or outputs.
template <typename Fn>
void VisitType(DType type, const Fn& fn) {
  if (type == DType::kF16) return fn.template operator()<Half>();
  if (type == DType::kBF16) return fn.template operator()<BFloat16>();
  fn.template operator()<float>();
}

void Lookup(Context& ctx, const LookupArgs& args, int threads) {
  for (const LookupFeature& f : args.features)
    VisitType(f.row_type, [&]<typename Row>() {
      VisitType(f.output_type, [&]<typename Out>() {
        const dim3 blocks = internal::BlocksFor(f.num_bags * kWarp, threads);
        Launch(ctx, WarpPerBag<Row, Out>, blocks, dim3(static_cast<unsigned>(threads)), 0, f,
               args.offsets, args.weights);
      });
    });
}

const RegisterCuda kWarpPerBag(
    {.name = "warp_per_bag",
     .about = "a warp a bag, a row at a time, for every shape of pooled bags",
     .takes = {.any_dim = true, .any_type = true, .weights = true, .mean = true},
     .parameters = {{"threads",
                     {"256"},
                     "threads a block: 64, 128, 256 or 512",
                     OneOf({"64", "128", "256", "512"})}},
     .make = [](const Point& point) -> CudaKernel {
       return [threads = static_cast<int>(point.Int("threads"))](
                  Context& ctx, const LookupArgs& args) { Lookup(ctx, args, threads); };
     }});

}  // namespace
}  // namespace tessera::bench
