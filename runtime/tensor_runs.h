#ifndef TESSERA_RUNTIME_TENSOR_RUNS_H_
#define TESSERA_RUNTIME_TENSOR_RUNS_H_
// The layout of a strided tensor in memory, as contiguous runs.
#include <cstdint>

#include "runtime/tensor.h"

namespace tessera::internal {

inline constexpr int64_t kElementGrain = 1 << 16;  // elements of a piece in elementwise loops

// The longest run of contiguous elements at the end of the shape, and a walk over the runs of a
// strided tensor.
struct Runs {
  int outer_rank;
  int64_t length = 1, count = 1;

  explicit Runs(const Tensor& t) : outer_rank(t.rank()) {
    while (outer_rank > 0 &&
           (t.strides()[outer_rank - 1] == length || t.shape()[outer_rank - 1] == 1)) {
      length *= t.shape()[outer_rank - 1];
      --outer_rank;
    }
    for (int i = 0; i < outer_rank; ++i) count *= t.shape()[i];
  }
  // Offset in elements of run `index`.
  int64_t Offset(const Tensor& t, int64_t index) const {
    int64_t offset = 0;
    for (int i = outer_rank - 1; i >= 0; --i) {
      offset += index % t.shape()[i] * t.strides()[i];
      index /= t.shape()[i];
    }
    return offset;
  }
};

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_TENSOR_RUNS_H_
