#ifndef TESSERA_RUNTIME_OPS_KERNELS_FOUR_CUH_
#define TESSERA_RUNTIME_OPS_KERNELS_FOUR_CUH_
// Four neighbouring elements of a row, moved at once where the row's start allows it (`vectors`: it
// is a multiple of 16 bytes), up to the row's end. For .cu files.
#include "runtime/launch.cuh"

namespace tessera::internal {

// Whether rows `ld` elements apart from `p` on all begin at multiples of 16 bytes.
inline bool RowsAreVectors(const float* p, int64_t ld) {
  return reinterpret_cast<uintptr_t>(p) % 16 == 0 && ld % 4 == 0;
}

// row[column … column + 3], 0 from `columns` on. REQUIRES: column is a multiple of 4.
__device__ __forceinline__ float4 LoadFour(const float* row, int64_t column, int64_t columns,
                                           bool vectors) {
  const float* p = row + column;
  if (vectors && column + 4 <= columns) return *reinterpret_cast<const float4*>(p);
  float4 v = {0, 0, 0, 0};
  if (column < columns) v.x = p[0];
  if (column + 1 < columns) v.y = p[1];
  if (column + 2 < columns) v.z = p[2];
  if (column + 3 < columns) v.w = p[3];
  return v;
}

__device__ __forceinline__ void StoreFour(float* row, int64_t column, int64_t columns, bool vectors,
                                          float4 v) {
  float* p = row + column;
  if (vectors && column + 4 <= columns) {
    *reinterpret_cast<float4*>(p) = v;
    return;
  }
  if (column < columns) p[0] = v.x;
  if (column + 1 < columns) p[1] = v.y;
  if (column + 2 < columns) p[2] = v.z;
  if (column + 3 < columns) p[3] = v.w;
}

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_OPS_KERNELS_FOUR_CUH_
