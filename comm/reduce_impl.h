#ifndef TESSERA_COMM_REDUCE_IMPL_H_
#define TESSERA_COMM_REDUCE_IMPL_H_
// The formula of ReduceInOrder for one element, and the devices' overloads.
#include <type_traits>
#include <vector>

#include "comm/reduce.h"
#include "runtime/base/host_device.h"
#include "runtime/device/device.h"

namespace tessera::internal {

template <typename T>
TESSERA_HD T Add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  } else {
    return a + b;
  }
}

template <ReduceOp op, typename T>
TESSERA_HD T Combine(T a, T b) {
  if constexpr (op == ReduceOp::kSum) return Add(a, b);
  if constexpr (op == ReduceOp::kMax) return a < b ? b : a;
  if constexpr (op == ReduceOp::kMin) return b < a ? b : a;
}

// Calls fn.operator()<op>().
template <typename Fn>
decltype(auto) VisitReduceOp(ReduceOp op, Fn&& fn) {
  switch (op) {
    case ReduceOp::kSum:
      return fn.template operator()<ReduceOp::kSum>();
    case ReduceOp::kMax:
      return fn.template operator()<ReduceOp::kMax>();
    case ReduceOp::kMin:
      return fn.template operator()<ReduceOp::kMin>();
  }
  TESSERA_FAIL("unknown reduction {}", static_cast<int>(op));
}

// Calls fn.operator()<T>() for a type that is reduced.
template <typename Fn>
decltype(auto) VisitReducible(DType dtype, Fn&& fn) {
  if (dtype == DType::kF64) return fn.template operator()<double>();
  if (dtype == DType::kI32) return fn.template operator()<int32_t>();
  if (dtype == DType::kI64) return fn.template operator()<int64_t>();
  TESSERA_CHECK_EQ(dtype, DType::kF32, "reduction");
  return fn.template operator()<float>();
}

// out[i] = parts[0][i] ∘ parts[1][i] ∘ …
void Reduce(OnCpu, Context& ctx, const std::vector<Tensor>& parts, ReduceOp op, const Tensor& out);
void Reduce(OnCuda, Context& ctx, const std::vector<Tensor>& parts, ReduceOp op, const Tensor& out);

}  // namespace tessera::internal
#endif  // TESSERA_COMM_REDUCE_IMPL_H_
