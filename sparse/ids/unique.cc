#include "sparse/ids/unique.h"

#include "runtime/device/dispatch.h"
#include "sparse/ids/unique_impl.h"

namespace tessera {

UniqueIds UniquePerGroup(Context& ctx, const Tensor& ids, std::span<const int64_t> group_offsets,
                         bool counts) {
  CheckDevice(ctx, "unique", ids);
  TESSERA_CHECK_EQ(ids.rank(), 1, "unique: ids {}", ids.shape());
  TESSERA_CHECK(!group_offsets.empty() && group_offsets.front() == 0,
                "unique: group offsets start at 0");
  for (size_t g = 0; g + 1 < group_offsets.size(); ++g)
    TESSERA_CHECK_LE(group_offsets[g], group_offsets[g + 1], "unique: group offsets fall at {}", g);
  TESSERA_CHECK_EQ(group_offsets.back(), ids.dim(0), "unique: the last group offset, and ids");
  const Tensor in = ids.Contiguous(ctx);
  VisitIndexType(in.dtype(), "unique: ids", []<typename T>() {});
  return DispatchDevice(ctx.device(), [&](auto on) {
    return internal::UniqueOf(on, ctx, in, group_offsets, counts);
  });
}

UniqueIds Unique(Context& ctx, const Tensor& ids, bool counts) {
  const int64_t all[] = {0, ids.numel()};
  return UniquePerGroup(ctx, ids, all, counts);
}

}  // namespace tessera
