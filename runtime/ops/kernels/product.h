#ifndef TESSERA_RUNTIME_OPS_KERNELS_PRODUCT_H_
#define TESSERA_RUNTIME_OPS_KERNELS_PRODUCT_H_
// Products of f32 matrices whose bits are the same for every instruction set, cut and number of
// threads. An element of C[m, n] = A[m, k]·B[k, n] is made so: the sum is cut into pieces of
// kPieceOfSum terms; a piece is a chain of fused multiply-adds from 0, in the order of k; the
// pieces' results are added in their order.
//
// B is packed in panels of some columns, depth-major, so that a step along the sum is a load of
// neighbours. Rows of A are packed likewise, kRowsOfPanel at a time, by the call that uses them.
#include <cstdint>

#include "runtime/base/isa.h"

namespace tessera::internal {

inline constexpr int64_t kPieceOfSum = 128;
// Products of so few terms read B in place: nothing of it is to be packed before.
inline constexpr int64_t kShallowTerms = 4;

// A factor: `extent` rows of A, or columns of B, each of k terms.
struct ProductSide {
  const float* data;
  int64_t ld;        // from one row in memory to the next
  bool depth_inner;  // neighbours in memory are terms of one sum (A[m, k], B[n, k]ᵀ)
  int64_t extent;

  const float* At(int64_t x, int64_t depth) const {
    return data + (depth_inner ? x * ld + depth : depth * ld + x);
  }
};

struct ProductArgs {
  ProductSide a, b;
  int64_t k;
  float* c;
  int64_t row_stride, column_stride;  // of C
  bool add;                           // C += A·B: the first piece's result is added to C, too
};

// A part of C: rows, and panels of columns.
struct ProductPart {
  int64_t row_begin, row_end, panel_begin, panel_end;
};

inline constexpr int64_t kRowsOfPanel = 16, kRowsOfBlock = 5 * kRowsOfPanel;
inline constexpr int64_t kMaxPanelColumns = 48;
// Floats that `multiply` needs: rows of A and a panel of B, for one piece of the sum.
inline constexpr int64_t kProductScratch = (kRowsOfBlock + kMaxPanelColumns) * kPieceOfSum;

// Panels of columns of B, and terms of them.
struct ProductPanels {
  int64_t begin, end, term_begin, term_end;
};

struct ProductKernels {
  int64_t panel_columns;
  // Writes some panels' terms where `multiply` looks for them in `packed`: all panels of B.
  void (*pack)(const ProductArgs&, const ProductPanels&, float* packed);
  // `packed`: all panels of B, k × panel_columns floats each (a narrower last panel fewer); or
  // null, which suits few rows.
  void (*multiply)(const ProductArgs&, const ProductPart&, const float* packed, float* scratch);
};

#define TESSERA_DECLARE_PRODUCT_(isa)   \
  namespace isa {                       \
  extern const ProductKernels kProduct; \
  }
TESSERA_FOR_EACH_ISA(TESSERA_DECLARE_PRODUCT_)
#undef TESSERA_DECLARE_PRODUCT_

const ProductKernels& ChosenProduct();

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_OPS_KERNELS_PRODUCT_H_
