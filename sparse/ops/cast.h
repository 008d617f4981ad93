#ifndef TESSERA_SPARSE_OPS_CAST_H_
#define TESSERA_SPARSE_OPS_CAST_H_
// Conversion of a variable to another dtype.
#include "runtime/autograd.h"

namespace tessera {

// x.value().To(dtype); backward converts the gradient to the dtype of x. Undefined stays undefined.
Variable Cast(Context& ctx, const Variable& x, DType dtype);

}  // namespace tessera
#endif  // TESSERA_SPARSE_OPS_CAST_H_
