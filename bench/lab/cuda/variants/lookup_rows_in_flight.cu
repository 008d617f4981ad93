// How many rows should a lane ask for before it adds the first? A group of as many lanes as a row
// has vectors of 16 bytes (at most a warp) sums a bag; each lane loads its vector of so many rows,
// then adds them in order. With 1 it waits for memory at every row; with more, registers grow, and
// so fewer warps fit. The loops are apart, since an id that is waited for, or a sum, between two
// loads of rows would keep the second from being asked for. Without the bound of 2 blocks, nvcc
// 13.0 keeps to 32 registers, and has two rows on their way whatever the source asks for.
#include "bench/lab/cuda/cuda_variant.h"
#include "runtime/context.h"
#include "runtime/launch.cuh"
#include "runtime/vector.cuh"

namespace tessera::bench {
namespace {

using internal::Launch;
using Columns = internal::Vector<4>;

constexpr int kWidth = 4, kWarp = 32, kMaxThreads = 256;

// Zeros for an id that names no row: adding them changes no bit of a sum that began with +0.
__device__ __forceinline__ Columns RowOrZeros(const LookupFeature& f, int64_t id, int64_t column) {
  if (!IsRow(id, f.num_rows)) return {};
  return internal::LoadVector<kWidth>(f.RowAt<float>(id) + column);
}

// One item is a bag and the columns of a group of lanes.
template <int kRows>
__global__ void __launch_bounds__(kMaxThreads, 2)
    RowsInFlightKernel(LookupFeature f, IndexArray offsets, int lanes) {
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t pieces = f.dim / (kWidth * lanes), item = thread / lanes, bag = item / pieces;
  if (bag >= f.num_bags) return;
  const int64_t column = (item % pieces * lanes + thread % lanes) * kWidth;
  const int64_t end = offsets[f.first_bag + bag + 1];
  const auto* ids = static_cast<const int64_t*>(f.ids.data);
  Columns sum = {};
#pragma unroll 1  // so many rows, and no multiple of them
  for (int64_t i = offsets[f.first_bag + bag]; i < end; i += kRows) {
    int64_t id[kRows];
    Columns rows[kRows];
#pragma unroll
    for (int u = 0; u < kRows; ++u) id[u] = i + u < end ? ids[i + u] : -1;
#pragma unroll
    for (int u = 0; u < kRows; ++u) rows[u] = RowOrZeros(f, id[u], column);
#pragma unroll
    for (int u = 0; u < kRows; ++u)
#pragma unroll
      for (int k = 0; k < kWidth; ++k) sum.v[k] = sum.v[k] + rows[u].v[k];
  }
  StreamVector(f.OutputAt<float>(bag) + column, sum);
}

template <int kRows>
void Lookup(Context& ctx, const LookupArgs& args, int threads) {
  for (const LookupFeature& f : args.features) {
    const int64_t vectors = f.dim / kWidth, lanes = std::min<int64_t>(vectors, kWarp);
    Launch(ctx, RowsInFlightKernel<kRows>, internal::BlocksFor(f.num_bags * vectors, threads),
           dim3(static_cast<unsigned>(threads)), 0, f, args.offsets, static_cast<int>(lanes));
  }
}

using Rows = Constants<4, 1, 2, 8>;

const RegisterCuda kRowsInFlight(
    {.name = "rows_in_flight",
     .about = "as many lanes a bag as its dim has vectors, several rows asked for at once",
     .parameters =
         {Rows::Named("rows-in-flight", "rows that a lane asks for at once"),
          {"threads", {"256"}, "threads a block: 64, 128 or 256", OneOf({"64", "128", "256"})}},
     .make = [](const Point& point) {
       const auto threads = static_cast<int>(point.Int("threads"));
       return Rows::With(point.Int("rows-in-flight"), [=]<int kRows>() -> CudaKernel {
         return [=](Context& ctx, const LookupArgs& args) { Lookup<kRows>(ctx, args, threads); };
       });
     }});

}  // namespace
}  // namespace tessera::bench
