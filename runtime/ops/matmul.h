#ifndef TESSERA_RUNTIME_OPS_MATMUL_H_
#define TESSERA_RUNTIME_OPS_MATMUL_H_
// Products of two variables.
#include "runtime/autograd.h"

namespace tessera {

// a [m, k]·b [k, n], or a·bᵀ with b [n, k] if transpose_b -> [m, n].
Variable MatMul(Context& ctx, const Variable& a, const Variable& b, bool transpose_b = false);

// Multiplies matrices example by example: a [B, m, k], b [B, k, n] or [B, n, k] -> [B, m, n].
Variable BatchMatMul(Context& ctx, const Variable& a, const Variable& b, bool transpose_b = false);

}  // namespace tessera
#endif  // TESSERA_RUNTIME_OPS_MATMUL_H_
