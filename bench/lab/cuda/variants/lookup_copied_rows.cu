// Can rows be on their way without registers that wait for them? As in lookup_rows_in_flight.cu a
// group of lanes sums a bag, but a lane's vectors come to shared memory by cp.async, so many rows
// ahead of the one that it adds; registers stay as they are however many that is, and the bound
// becomes shared memory, of which each row ahead takes 16 bytes a thread. A lane reads what it has
// asked for itself alone: no barrier is needed.
#include "bench/lab/cuda/cuda_variant.h"
#include "runtime/context.h"
#include "runtime/launch.cuh"
#include "runtime/ptx.cuh"
#include "runtime/vector.cuh"

namespace tessera::bench {
namespace {

using internal::CommitCopies;
using internal::CopyAsyncIf;
using internal::Launch;
using internal::WaitForCopies;
using Columns = internal::Vector<4>;

constexpr int kWidth = 4, kWarp = 32, kThreads = 128;

// One item is a bag and the columns of a group of lanes.
template <int kAhead>
__global__ void __launch_bounds__(kThreads)
    CopiedRowsKernel(LookupFeature f, IndexArray offsets, int lanes) {
  __shared__ float4 staged[kAhead][kThreads];
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t pieces = f.dim / (kWidth * lanes), item = thread / lanes, bag = item / pieces;
  if (bag >= f.num_bags) return;
  const int64_t column = (item % pieces * lanes + thread % lanes) * kWidth;
  const int64_t begin = offsets[f.first_bag + bag], end = offsets[f.first_bag + bag + 1];
  const auto* ids = static_cast<const int64_t*>(f.ids.data);
  // Zeros for an id that names no row: adding them changes no bit of a sum that began with +0.
  const auto ask = [&](int64_t i) {
    const int64_t id = i < end ? ids[i] : -1;
    const bool is_row = IsRow(id, f.num_rows);
    CopyAsyncIf<16>(&staged[(i - begin) % kAhead][threadIdx.x],
                    f.RowAt<float>(is_row ? id : 0) + column, is_row);
    CommitCopies();
  };
  for (int64_t i = begin; i < begin + kAhead; ++i) ask(i);
  Columns sum = {};
  for (int64_t i = begin; i < end; ++i) {
    WaitForCopies<kAhead - 1>();
    const float4 row = staged[(i - begin) % kAhead][threadIdx.x];
    sum = {{sum.v[0] + row.x, sum.v[1] + row.y, sum.v[2] + row.z, sum.v[3] + row.w}};
    ask(i + kAhead);
  }
  StreamVector(f.OutputAt<float>(bag) + column, sum);
}

template <int kAhead>
void Lookup(Context& ctx, const LookupArgs& args) {
  for (const LookupFeature& f : args.features) {
    const int64_t vectors = f.dim / kWidth, lanes = std::min<int64_t>(vectors, kWarp);
    Launch(ctx, CopiedRowsKernel<kAhead>, internal::BlocksFor(f.num_bags * vectors, kThreads),
           dim3(kThreads), 0, f, args.offsets, static_cast<int>(lanes));
  }
}

using Ahead = Constants<4, 1, 2, 8>;

const RegisterCuda kCopiedRows(
    {.name = "copied_rows",
     .about = "rows come to shared memory by cp.async, several ahead of the one that is added",
     .parameters = {Ahead::Named("rows-ahead", "rows that a lane asks for ahead")},
     .make = [](const Point& point) {
       return Ahead::With(point.Int("rows-ahead"),
                          []<int kAhead>() -> CudaKernel { return Lookup<kAhead>; });
     }});

}  // namespace
}  // namespace tessera::bench
