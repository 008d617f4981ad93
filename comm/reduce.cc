#include "comm/reduce.h"

#include <algorithm>
#include <cstring>

#include "comm/reduce_impl.h"
#include "runtime/device/dispatch.h"
#include "runtime/for_each.h"

namespace tessera {
namespace internal {
namespace {

// The sums of so many elements stay in the first cache while the parts come by one after another.
constexpr int64_t kInCache = 2048;
constexpr int64_t kGrain = 16 * kInCache;

template <ReduceOp op, typename T>
void CombineInto(T* __restrict out, const T* __restrict part, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = Combine<op>(out[i], part[i]);
}

template <ReduceOp op, typename T>
void ReduceRange(const std::vector<Tensor>& parts, T* out, int64_t begin, int64_t end) {
  for (int64_t at = begin; at < end; at += kInCache) {
    const int64_t n = std::min(kInCache, end - at);
    std::memcpy(out + at, parts[0].data<T>() + at, static_cast<size_t>(n) * sizeof(T));
    for (size_t r = 1; r < parts.size(); ++r) CombineInto<op>(out + at, parts[r].data<T>() + at, n);
  }
}

}  // namespace

void Reduce(OnCpu, Context& ctx, const std::vector<Tensor>& parts, ReduceOp op, const Tensor& out) {
  VisitReduceOp(op, [&]<ReduceOp kOp>() {
    VisitReducible(out.dtype(), [&]<typename T>() {
      ParallelFor(ctx, out.numel(), kGrain, [&](int64_t begin, int64_t end) {
        ReduceRange<kOp>(parts, out.data<T>(), begin, end);
      });
    });
  });
}

}  // namespace internal

std::string ToString(ReduceOp op) {
  static constexpr const char* kNames[] = {"sum", "max", "min"};
  return kNames[static_cast<int>(op)];
}

void CheckReducible(DType dtype, std::string_view what) {
  TESSERA_CHECK(
      dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kI32 || dtype == DType::kI64,
      "{}: {} is not reduced; f32, f64, i32 and i64 are", what, dtype);
}

Tensor ReduceInOrder(Context& ctx, const std::vector<Tensor>& parts, ReduceOp op) {
  TESSERA_CHECK(!parts.empty(), "reduction of nothing");
  const Tensor& first = parts[0];
  CheckReducible(first.dtype(), "reduction");
  for (const Tensor& part : parts) {
    CheckDevice(ctx, "reduction", part);
    TESSERA_CHECK(part.is_contiguous(), "reduction of a tensor {} that is not contiguous",
                  part.shape());
    TESSERA_CHECK_EQ(part.shape(), first.shape(), "reduction");
    TESSERA_CHECK_EQ(part.dtype(), first.dtype(), "reduction");
  }
  Tensor out = Tensor::Empty(ctx, first.shape(), first.dtype());
  DispatchDevice(ctx.device(), [&](auto on) { internal::Reduce(on, ctx, parts, op, out); });
  return out;
}

}  // namespace tessera
