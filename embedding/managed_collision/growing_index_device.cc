// A growing index on a GPU: the host's part of it, and its calls of the device.
#include <algorithm>
#include <cstring>

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

namespace {

// The struct of i64 that begins a device's answer.
template <typename Numbers>
Numbers NumbersOf(const std::vector<int64_t>& told) {
  Numbers numbers;
  std::memcpy(&numbers, told.data(), sizeof(Numbers));
  return numbers;
}

}  // namespace

void GrowingIndex::MoveTo(Context& ctx) const {
  if (device_ != nullptr) return CheckDevice(ctx, "growing index", device_->slots);
  const Columns columns = ReadColumns();
  const auto tensor = [&](const std::vector<int64_t>& column) { return Tensor::From(ctx, column); };
  const internal::GrowingNumbers numbers = {num_rows_,     std::ssize(free_), hand_,
                                            looked_at_,    reused_on_gpu_,    /*erased=*/0,
                                            sketch_.adds()};
  OnlyOnCuda(ctx.device(), [&](auto on) {
    device_ = std::make_shared<internal::GrowingRows>(
        internal::MakeGrowingRows(on, ctx, options_.max_rows, tensor(columns.ids),
                                  tensor(columns.last), tensor(columns.counts), free_, numbers));
  });
  device_->sketch = Tensor::From(ctx, sketch_.counters());
  sketch_ = internal::FrequencySketch(0, options_.admit_after);
  records_moved_ = num_rows_;
}

Tensor GrowingIndex::FindOnDevice(Context& ctx, const Tensor& ids) const {
  MoveTo(ctx);
  Tensor rows;
  OnlyOnCuda(ctx.device(), [&](auto on) { rows = internal::FindGrowing(on, ctx, *device_, ids); });
  return rows;
}

GrowingIndex::Inserted GrowingIndex::InsertOnDevice(Context& ctx, const Tensor& ids) {
  MoveTo(ctx);
  if (ids.numel() == 0) return {Tensor::Empty(ctx, {0}, DType::kI64), {}, {}};
  HearOfRows();
  internal::GrowingInserted inserted;
  OnlyOnCuda(ctx.device(), [&](auto on) {
    const internal::GrowingCall call = {options_.score, options_.max_rows, options_.admit_after,
                                        now_, internal::MayLookAt(ids.numel())};
    inserted = internal::InsertGrowing(on, ctx, device_.get(), ids, call);
  });
  if (report_)
    report_->given_since += ids.numel();
  else
    report_ = {HostCopy(ctx, device_->numbers)};
  return {inserted.rows, {}, {}, inserted.given};
}

// The host never waits for a count: it knows of a step's rows some steps later, and counts an id a
// row until then.
void GrowingIndex::HearOfRows() {
  if (!report_ || !report_->numbers.there()) return;
  const auto told =
      NumbersOf<internal::GrowingNumbers>(report_->numbers.Wait().ToVector<int64_t>());
  device_->most_rows = std::min(device_->most_rows, told.num_rows + report_->given_since);
  report_.reset();
}

void GrowingIndex::Inserted::ReadSync() {
  if (!given) return;
  const auto told = given.ToVector<int64_t>();
  const auto numbers = NumbersOf<internal::GrowingGiven>(told);
  for (int64_t k = 0; k < numbers.given; ++k) {
    const int64_t row = told[static_cast<size_t>(internal::kGivenNumbers + k)];
    (row < numbers.rows_before ? reused : added).push_back(row);
  }
  given = {};
}

int64_t GrowingIndex::most_num_rows() const {
  return device_ == nullptr ? num_rows_ : device_->most_rows;
}

void GrowingIndex::SettleSync() const {
  if (device_ == nullptr || !device_->changed) return;
  const auto numbers = NumbersOf<internal::GrowingNumbers>(device_->numbers.ToVector<int64_t>());
  num_rows_ = numbers.num_rows;
  free_ = device_->free.Rows(0, numbers.num_free).ToVector<int64_t>();
  hand_ = numbers.hand;
  looked_at_ = numbers.looked_at;
  reused_on_gpu_ = numbers.reused;
  device_->most_rows = num_rows_;
  device_->most_erased = numbers.erased;
  device_->changed = false;
  report_.reset();
}

int64_t GrowingIndex::DeviceBytes() const { return device_ == nullptr ? 0 : device_->bytes(); }

internal::FrequencySketch GrowingIndex::ReadSketch() const {
  if (device_ == nullptr) return sketch_;
  internal::FrequencySketch sketch(0, options_.admit_after);
  sketch.Restore(device_->sketch.ToVector<uint8_t>(),
                 NumbersOf<internal::GrowingNumbers>(device_->numbers.ToVector<int64_t>()).adds);
  return sketch;
}

GrowingIndex::Columns GrowingIndex::ReadDevice() const {
  const auto column = [&](const ReservedTensor& all) {
    return all.Rows(num_rows_).ToVector<int64_t>();
  };
  Columns columns = {column(device_->ids), column(device_->last), column(device_->counts)};
  for (int64_t& count : columns.counts) count = std::min<int64_t>(count, UINT32_MAX);
  return columns;
}

}  // namespace tessera
