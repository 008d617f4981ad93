#include "sparse/ids/id_check.h"

#include <algorithm>
#include <atomic>

namespace tessera::internal {
namespace {

template <typename T>
int64_t FirstOutside(Context& ctx, const T* ids, int64_t n, int64_t rows) {
  std::atomic<int64_t> first{n};
  ParallelFor(ctx, n, 1 << 15, [&](int64_t begin, int64_t end) {
    const T* found = std::find_if(ids + begin, ids + end, [rows](T id) {
      return static_cast<uint64_t>(static_cast<int64_t>(id)) >= static_cast<uint64_t>(rows);
    });
    if (found == ids + end) return;
    int64_t seen = first.load();
    while (found - ids < seen && !first.compare_exchange_weak(seen, found - ids)) {
    }
  });
  return first.load();
}

}  // namespace

int64_t FirstOutsideSync(OnCpu, Context& ctx, const Tensor& ids, int64_t rows) {
  return VisitDType(ids.dtype(), [&]<typename T>() {
    if constexpr (std::is_integral_v<T>)
      return FirstOutside(ctx, ids.data<T>(), ids.numel(), rows);
    else
      return ids.numel();
  });
}

}  // namespace tessera::internal
