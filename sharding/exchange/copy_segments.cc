#include "sharding/exchange/copy_segments.h"

#include <algorithm>
#include <cstring>

#include "runtime/device/dispatch.h"
#include "sharding/exchange/copy_segments_impl.h"

namespace tessera {

void CopySegments(Context& ctx, std::span<const SegmentCopy> copies) {
  DispatchDevice(ctx.device(), [&](auto on) { internal::CopySegments(on, ctx, copies); });
}

namespace internal {

void CopySegments(OnCpu, Context& ctx, std::span<const SegmentCopy> copies) {
  const int64_t n = static_cast<int64_t>(copies.size());
  ParallelFor(ctx, n, std::max<int64_t>(1, n / (4 * ctx.threads().threads())),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  const SegmentCopy& copy = copies[static_cast<size_t>(i)];
                  if (copy.bytes > 0)
                    std::memcpy(copy.to, copy.from, static_cast<size_t>(copy.bytes));
                }
              });
}

}  // namespace internal
}  // namespace tessera
