#ifndef TESSERA_RUNTIME_OPS_SHAPING_H_
#define TESSERA_RUNTIME_OPS_SHAPING_H_
// Ops that move elements without computing: results are views where they can be.
#include <vector>

#include "runtime/autograd.h"

namespace tessera {

// Joined along `dim`, in order. REQUIRES: at least one tensor; same dtype, and same shape but for
// `dim`.
Variable Concat(Context& ctx, const std::vector<Variable>& parts, int dim);

// Cut along `dim` into parts of the given sizes, views of x. REQUIRES: the sizes add up to the
// extent.
std::vector<Variable> Split(Context& ctx, const Variable& x, int dim,
                            const std::vector<int64_t>& sizes);

// The elements [start, start + length) along `dim`, a view of x.
Variable Narrow(Context& ctx, const Variable& x, int dim, int64_t start, int64_t length);

// One extent may be -1. A view if x is contiguous, else a copy.
Variable Reshape(Context& ctx, const Variable& x, const Shape& shape);

}  // namespace tessera
#endif  // TESSERA_RUNTIME_OPS_SHAPING_H_
