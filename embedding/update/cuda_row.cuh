#ifndef TESSERA_EMBEDDING_UPDATE_CUDA_ROW_CUH_
#define TESSERA_EMBEDDING_UPDATE_CUDA_ROW_CUH_
// Where a row of a table lies, and how it is stored: f32, or 16 bits rounded as the table says. For
// .cu files.
#include "embedding/update/any_vector.cuh"
#include "embedding/update/row_rounding.h"
#include "embedding/update/update_cuda.h"

namespace tessera::internal {

// One row as its lanes see it.
template <typename Args>
struct CudaRow {
  const Args& args;
  const CudaTable& table;
  int64_t row;

  __device__ __forceinline__ int64_t At(int d) const { return row * table.dim + d; }

  // Stores columns [d, d + kWidth), rounded as the table says.
  template <int kWidth>
  __device__ __forceinline__ void Store(int d, const Vector<kWidth>& value) const {
    const RowRounding& r = table.rounding;
    if (!r.stochastic || table.row_type == DType::kF32)
      return StoreAny(table.weights, table.row_type, At(d), value);
    // The vector's columns lie in one block of random bits: first_column is a multiple of kWidth.
    const int64_t column = r.first_column + d,
                  number = r.first_row + (r.row_ids != nullptr ? r.row_ids[row] : row);
    const PhiloxBits random = RoundingBits(r.seed, args.step, number, column);
    const uint32_t low = column % 8 < 4 ? random.v[0] : random.v[2],
                   high = column % 8 < 4 ? random.v[1] : random.v[3];
    uint32_t bits[kWidth];
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      const int place = static_cast<int>(column % 4) + k;
      const uint32_t chance = (place < 2 ? low : high) >> (16 * (place & 1)) & 0xffffu;
      bits[k] = table.row_type == DType::kF16
                    ? RoundedByChance(Half(), value.v[k], chance).bits
                    : RoundedByChance(BFloat16(), value.v[k], chance).bits;
    }
    StoreBits<kWidth>(table.weights, At(d), bits);
  }
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_UPDATE_CUDA_ROW_CUH_
