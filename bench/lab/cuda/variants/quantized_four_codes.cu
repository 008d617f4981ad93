// The obvious lookup of int8 rows: a lane has four columns, one word of codes, and reads the row's
// scale and bias itself, which neighbouring lanes get in one request. A row of 128 columns is 132
// bytes, so that a lane asks for 8 bytes a row where the library's asks for 16: it needs twice the
// rows in flight for the same bytes.
#include <bit>

#include "bench/lab/cuda/cuda_variant.h"
#include "quant/affine_row.h"
#include "runtime/context.h"
#include "runtime/launch.cuh"
#include "runtime/vector.cuh"

namespace tessera::bench {
namespace {

using internal::Launch;
using Columns = internal::Vector<4>;

constexpr int kWidth = 4, kWarp = 32, kMaxThreads = 256;

struct RawRow {
  uint32_t params, codes;  // halves: scale, bias
};

// Zeros decode as zeros: they stand for an id that names no row.
__device__ __forceinline__ RawRow RowOrZeros(const QuantizedLookupFeature& f, int64_t id,
                                             int64_t column) {
  if (!IsRow(id, f.num_rows)) return {};
  const auto* row = static_cast<const uint8_t*>(f.rows) + id * f.layout.row_bytes;
  return {*reinterpret_cast<const uint32_t*>(row + f.layout.params_at),
          *reinterpret_cast<const uint32_t*>(row + f.layout.codes_at + column)};
}

__device__ __forceinline__ void Add(Columns& sum, const RawRow& row) {
  const AffineRow affine = {internal::WidenHalf(static_cast<uint16_t>(row.params)),
                            internal::WidenHalf(static_cast<uint16_t>(row.params >> 16)), 0.0f};
#pragma unroll
  for (int k = 0; k < kWidth; ++k) sum.v[k] = sum.v[k] + affine.Value(row.codes >> (8 * k) & 0xff);
}

template <int kRows>
__global__ void __launch_bounds__(kMaxThreads, 2)
    FourCodesKernel(QuantizedLookupFeature f, IndexArray offsets, int lanes) {
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t pieces = f.dim / (kWidth * lanes), item = thread / lanes, bag = item / pieces;
  if (bag >= f.num_bags) return;
  const int64_t column = (item % pieces * lanes + thread % lanes) * kWidth;
  const int64_t end = offsets[f.first_bag + bag + 1];
  const auto* ids = static_cast<const int64_t*>(f.ids.data);
  Columns sum = {};
  for (int64_t i = offsets[f.first_bag + bag]; i < end; i += kRows) {
    int64_t id[kRows];
    RawRow rows[kRows];
#pragma unroll
    for (int u = 0; u < kRows; ++u) id[u] = i + u < end ? ids[i + u] : -1;
#pragma unroll
    for (int u = 0; u < kRows; ++u) rows[u] = RowOrZeros(f, id[u], column);
#pragma unroll
    for (int u = 0; u < kRows; ++u) Add(sum, rows[u]);
  }
  StreamVector(f.OutputAt<float>(bag) + column, sum);
}

template <int kRows>
void Lookup(Context& ctx, const QuantizedLookupArgs& args) {
  for (const QuantizedLookupFeature& f : args.features) {
    const int64_t vectors = f.dim / kWidth, lanes = std::min<int64_t>(vectors, kWarp);
    Launch(ctx, FourCodesKernel<kRows>, internal::BlocksFor(f.num_bags * vectors, kMaxThreads),
           dim3(kMaxThreads), 0, f, args.offsets, static_cast<int>(lanes));
  }
}

using Rows = Constants<4, 1, 2, 8>;

const RegisterCuda kFourCodes(
    {.name = "four_codes",
     .about = "int8 rows, four columns a lane, each lane reads the row's parameters",
     .parameters = {Rows::Named("rows-in-flight", "rows that a lane asks for at once"),
                    {"codec",
                     {"int8"},
                     "how rows are stored: int8 or int8_tail",
                     OneOf({"int8", "int8_tail"})}},
     .make = [](const Point& point) {
       return Rows::With(point.Int("rows-in-flight"),
                         [&]<int kRows>() -> CudaKernel { return Lookup<kRows>; });
     }});

}  // namespace
}  // namespace tessera::bench
