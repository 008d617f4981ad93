#ifndef TESSERA_RUNTIME_OPS_SIMILARITY_H_
#define TESSERA_RUNTIME_OPS_SIMILARITY_H_
// How alike the rows of two matrices are: q [B, D], c [B, D] -> [B]; and rows times numbers; f32.
#include "runtime/autograd.h"

namespace tessera {

// Σ_d q·c.
Variable RowDot(Context& ctx, const Variable& q, const Variable& c);

// q·c / (max(‖q‖, eps)·max(‖c‖, eps)).
Variable CosineSimilarity(Context& ctx, const Variable& q, const Variable& c, float eps = 1e-8f);

// Row r of x [B, D] times scale[r], scale [B].
Variable ScaleRows(Context& ctx, const Variable& x, const Variable& scale);

}  // namespace tessera
#endif  // TESSERA_RUNTIME_OPS_SIMILARITY_H_
