#ifndef TESSERA_SPARSE_JAGGED_JAGGED_MATMUL_IMPL_H_
#define TESSERA_SPARSE_JAGGED_JAGGED_MATMUL_IMPL_H_
// The one product that jagged_matmul.h is made of: c = a·b for every head of every bag, each
// element a sum in order.
#include "runtime/base/host_device.h"
#include "runtime/context.h"
#include "runtime/device/device.h"
#include "sparse/jagged/jagged_layout.h"

namespace tessera::internal {

// A matrix for each head of each bag; element (i, j) lies i·rows + j·columns after its first.
struct BagMatrix {
  float* data;
  int64_t per_bag, per_head;  // elements from one bag's (head's) matrix to the next
  int64_t per_row;            // elements from one jagged row to the next; 0: it has no jagged rows
  int64_t rows, columns;

  BagMatrix transposed() const { return {data, per_bag, per_head, per_row, columns, rows}; }
  TESSERA_HD float* At(int64_t bag, int64_t head, int64_t first_row) const {
    return data + bag * per_bag + head * per_head + first_row * per_row;
  }
};

// An extent that is the rows of the bag.
inline constexpr int64_t kRowsOfBag = -1;

// c [m, n] = a [m, k] · b [k, n]. REQUIRES: c holds zeros.
struct BagProduct {
  JaggedView view;
  int64_t bags, heads;
  int64_t m, k, n;
  BagMatrix a, b, c;

  TESSERA_HD static int64_t Extent(int64_t extent, const JaggedView::Run& run) {
    return extent == kRowsOfBag ? run.count : extent;
  }
};

void Multiply(OnCpu, Context& ctx, const BagProduct& product);
void Multiply(OnCuda, Context& ctx, const BagProduct& product);

}  // namespace tessera::internal
#endif  // TESSERA_SPARSE_JAGGED_JAGGED_MATMUL_IMPL_H_
