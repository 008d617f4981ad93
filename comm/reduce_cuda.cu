#include "comm/reduce_impl.h"
#include "runtime/launch.cuh"
#include "runtime/tensor.h"

namespace tessera::internal {
namespace {

// A launch adds up to kMaxSources parts; further ones are added by further launches, in order.
template <ReduceOp op, typename T>
struct ReduceItems {
  static constexpr int kMaxSources = 16;
  const T* parts[kMaxSources];
  int num_parts;
  T* out;
  TESSERA_HD void operator()(int64_t i) const {
    T value = parts[0][i];
    for (int r = 1; r < num_parts; ++r) value = Combine<op>(value, parts[r][i]);
    out[i] = value;
  }
};

template <ReduceOp op, typename T>
void ReduceOnDevice(Context& ctx, const std::vector<Tensor>& parts, const Tensor& out) {
  using Items = ReduceItems<op, T>;
  Items items = {{parts[0].data<T>()}, 1, out.data<T>()};
  size_t next = 1;
  do {
    while (next < parts.size() && items.num_parts < Items::kMaxSources)
      items.parts[items.num_parts++] = parts[next++].data<T>();
    ForEach(ctx, out.numel(), items);
    items.parts[0] = items.out;
    items.num_parts = 1;
  } while (next < parts.size());
}

}  // namespace

void Reduce(OnCuda, Context& ctx, const std::vector<Tensor>& parts, ReduceOp op,
            const Tensor& out) {
  VisitReduceOp(op, [&]<ReduceOp kOp>() {
    VisitReducible(out.dtype(), [&]<typename T>() { ReduceOnDevice<kOp, T>(ctx, parts, out); });
  });
}

}  // namespace tessera::internal
