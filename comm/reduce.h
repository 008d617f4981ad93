#ifndef TESSERA_COMM_REDUCE_H_
#define TESSERA_COMM_REDUCE_H_
// The arithmetic of collectives: ((part 0 + part 1) + part 2) + …, elementwise, in this order on
// every device, so that the same parts give the same bits.
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tensor.h"

namespace tessera {

enum class ReduceOp { kSum, kMax, kMin };
// "sum", "max", "min".
std::string ToString(ReduceOp op);

// A new tensor of the parts' shape. Sums of integers wrap around. REQUIRES: at least one part, all
// contiguous, of one shape and one type out of f32, f64, i32 and i64, on ctx's device.
Tensor ReduceInOrder(Context& ctx, const std::vector<Tensor>& parts, ReduceOp op);

// Throws Error, naming `what`, for a type that is not reduced.
void CheckReducible(DType dtype, std::string_view what);

}  // namespace tessera
#endif  // TESSERA_COMM_REDUCE_H_
