// A growing index on a GPU: the host's part of it, and its calls of the device.
#include <algorithm>

#include "embedding/managed_collision/growing_index.h"
#include "embedding/managed_collision/growing_rows.h"
#include "runtime/device/dispatch.h"
#include "runtime/for_each.h"
#include "runtime/tensor.h"

namespace tessera {
namespace internal {

void PlaceBehindShared(OnCpu on, Context& ctx, const Tensor& ids, int64_t shared,
                       const Tensor& rows) {
  ForEach(on, ctx, rows.numel(), 1 << 15,
          PlaceBehindSharedRows{ArrayOf(ids), shared, rows.data<int64_t>()});
}

}  // namespace internal

void GrowingIndex::MoveTo(Context& ctx) const {
  if (device_ != nullptr) return CheckDevice(ctx, "growing index", device_->ids);
  const Columns columns = ReadColumns();
  const auto tensor = [&](const std::vector<int64_t>& column) { return Tensor::From(ctx, column); };
  OnlyOnCuda(ctx.device(), [&](auto on) {
    device_ = std::make_shared<internal::GrowingRows>(
        internal::MakeGrowingRows(on, ctx, options_.max_rows, tensor(columns.ids),
                                  tensor(columns.last), tensor(columns.counts)));
  });
}

Tensor GrowingIndex::FindOnDevice(Context& ctx, const Tensor& ids) const {
  MoveTo(ctx);
  Tensor rows;
  OnlyOnCuda(ctx.device(), [&](auto on) { rows = internal::FindGrowing(on, ctx, *device_, ids); });
  return rows;
}

GrowingIndex::Inserted GrowingIndex::InsertOnDeviceSync(Context& ctx, const Tensor& ids) {
  MoveTo(ctx);
  Inserted inserted;
  OnlyOnCuda(ctx.device(), [&](auto on) {
    const internal::GrowingCall call = {options_.score, options_.max_rows, options_.admit_after,
                                        now_,           num_rows_,         hand_,
                                        looked_at_,     may_look_until_,   free_,
                                        inserted.added, inserted.reused,   sketch_};
    inserted.rows = internal::InsertGrowingSync(on, ctx, device_.get(), ids, call);
  });
  return inserted;
}

int64_t GrowingIndex::DeviceBytes() const { return device_ == nullptr ? 0 : device_->bytes(); }

GrowingIndex::Columns GrowingIndex::ReadDevice() const {
  const auto column = [&](const Tensor& all) { return all.Rows(0, num_rows_).ToVector<int64_t>(); };
  Columns columns = {column(device_->ids), column(device_->last), column(device_->counts)};
  for (int64_t& count : columns.counts) count = std::min<int64_t>(count, UINT32_MAX);
  return columns;
}

}  // namespace tessera
