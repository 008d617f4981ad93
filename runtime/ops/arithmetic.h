#ifndef TESSERA_RUNTIME_OPS_ARITHMETIC_H_
#define TESSERA_RUNTIME_OPS_ARITHMETIC_H_
// Elementwise sums and products, and sums over all elements; f32. REQUIRES: operands of the same
// shape.
#include "runtime/autograd.h"

namespace tessera {

Variable Add(Context& ctx, const Variable& a, const Variable& b);
Variable Mul(Context& ctx, const Variable& a, const Variable& b);
Variable Scale(Context& ctx, const Variable& x, float factor);
// a·b + c in one pass.
Variable MulAdd(Context& ctx, const Variable& a, const Variable& b, const Variable& c);

// Over all elements -> shape []. Mean REQUIRES: at least one element; in a pass of several that are
// one step (Accumulation): the share of the mean over the step's elements.
Variable Sum(Context& ctx, const Variable& x);
Variable Mean(Context& ctx, const Variable& x);

}  // namespace tessera
#endif  // TESSERA_RUNTIME_OPS_ARITHMETIC_H_
