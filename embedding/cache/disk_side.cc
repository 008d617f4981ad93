#include "embedding/cache/disk_side.h"

#include <algorithm>
#include <span>

#include "runtime/device/dispatch.h"

namespace tessera::internal {
namespace {

// Flush stages at most so many records at once.
constexpr int64_t kStagedRows = 1 << 13;

Tensor PinnedCopy(Context& ctx, const std::vector<int64_t>& values) {
  Tensor tensor = Tensor::EmptyPinned(ctx, {std::ssize(values)}, DType::kI64);
  std::copy(values.begin(), values.end(), tensor.data<int64_t>());
  return tensor;
}

struct RowsOfSlots {
  std::vector<int64_t> rows, slots;
};
// The rows in scratch (ListScratch's list) whose current values are on disk.
RowsOfSlots ScratchOnDisk(const CacheView& view, const Tensor& list, int64_t conflicts) {
  const int64_t *const rows = list.data<int64_t>(), *const truth = rows + list.dim(1);
  RowsOfSlots found;
  for (int64_t c = 0; c < conflicts; ++c) {
    if (truth[c] >= 0) continue;
    found.rows.push_back(rows[c]);
    found.slots.push_back(view.cache.lines() + c);
  }
  return found;
}

}  // namespace

Tensor DiskSide::Staging(Context& ctx, int64_t rows) const {
  return Tensor::EmptyPinned(ctx, {rows, table_->staged_bytes()}, DType::kU8);
}

CacheView DiskSide::Staged(const CacheView& view, const Tensor& staging) const {
  CacheView staged = view;
  for (int p = 0; p < staged.parts.count; ++p)
    staged.parts.part[p].table = static_cast<char*>(staging.raw_data()) + table_->offset(p);
  return staged;
}

RowLog::Read DiskSide::StartRead(const std::vector<int64_t>& rows, const Tensor& staged) {
  return table_->log().StartRead(rows, static_cast<char*>(staged.raw_data()),
                                 table_->staged_bytes(), std::make_shared<Tensor>(staged));
}

void DiskSide::WriteSlots(Context& ctx, const CacheView& view, const std::vector<int64_t>& rows,
                          const std::vector<int64_t>& slots) {
  if (rows.empty()) return;
  const Tensor staging = Staging(ctx, std::ssize(rows)), list = PinnedCopy(ctx, slots);
  const CacheView staged = Staged(view, staging);
  DispatchDevice(ctx.device(), [&](auto on) {
    CacheRun(on, ctx).Stage(staged, list.data<int64_t>(), std::ssize(rows), /*fill=*/false);
  });
  ctx.Sync();
  table_->log().Write(rows, static_cast<const char*>(staging.raw_data()), table_->staged_bytes());
}

void DiskSide::Fill(Context& ctx, const CacheView& view, const Tensor& slots,
                    const Tensor& staged) const {
  slots.RecordStream(ctx);
  staged.RecordStream(ctx);
  const CacheView from = Staged(view, staged);
  DispatchDevice(ctx.device(), [&](auto on) {
    CacheRun(on, ctx).Stage(from, slots.data<int64_t>(), slots.numel(), /*fill=*/true);
  });
}

void DiskSide::Prefetch(Context& ctx, const CacheView& view, int64_t call,
                        const BatchMemory& batch) {
  ctx.Sync();
  const auto count = static_cast<size_t>(batch.num_moves.data<int32_t>()[0]);
  if (count == 0) return;
  const auto n = static_cast<size_t>(batch.moves.dim(1));
  const std::span<const int64_t> moves(batch.moves.data<int64_t>(), 3 * n);
  Reading reading{.call = call, .rows = {}, .slots = {}, .staged = {}, .read = {}};
  std::vector<int64_t> slots, leaving, left;
  for (size_t c = 0; c < count; ++c) {
    reading.rows.push_back(moves[c]);
    slots.push_back(moves[n + c]);
    if (moves[2 * n + c] < 0) continue;
    leaving.push_back(moves[2 * n + c]);
    left.push_back(moves[n + c]);
  }
  WriteSlots(ctx, view, leaving, left);
  reading.slots = PinnedCopy(ctx, slots);
  reading.staged = Staging(ctx, std::ssize(slots));
  reading.read = StartRead(reading.rows, reading.staged);
  reads_.push_back(std::move(reading));
}

void DiskSide::FinishReads(Context& ctx, const CacheView& view, int64_t up_to_call) {
  while (!reads_.empty() && reads_.front().call <= up_to_call) {
    Reading& first = reads_.front();
    try {
      first.read->Wait();
    } catch (...) {
      first.read = StartRead(first.rows, first.staged);
      ctx.Sync();  // lines are filled already, and the next call may come on another stream
      throw;
    }
    Fill(ctx, view, first.slots, first.staged);
    reads_.pop_front();
  }
}

void DiskSide::LoadScratch(Context& ctx, const CacheView& view, const MovedTable& batch,
                           int64_t conflicts, int64_t room) {
  if (conflicts == 0) return;
  const Tensor list = DispatchDevice(ctx.device(), [&](auto on) {
    const CacheRun run(on, ctx);
    run.LoadScratch({&batch, 1});
    return run.ListOfScratch(batch, room);
  });
  ctx.Sync();
  const RowsOfSlots read = ScratchOnDisk(view, list, conflicts);
  if (read.rows.empty()) return;
  const Tensor staged = Staging(ctx, std::ssize(read.rows));
  StartRead(read.rows, staged)->Wait();
  Fill(ctx, view, PinnedCopy(ctx, read.slots), staged);
}

void DiskSide::StoreScratch(Context& ctx, const CacheView& view, const MovedTable& batch,
                            int64_t conflicts, int64_t room) {
  if (conflicts == 0) return;
  const Tensor list = DispatchDevice(ctx.device(), [&](auto on) {
    const CacheRun run(on, ctx);
    run.StoreScratch({&batch, 1});
    return run.ListOfScratch(batch, room);
  });
  ctx.Sync();
  const RowsOfSlots written = ScratchOnDisk(view, list, conflicts);
  WriteSlots(ctx, view, written.rows, written.slots);
}

void DiskSide::Flush(Context& ctx, const CacheView& view) {
  table_->log().CheckWritten();
  const auto [list, count] =
      DispatchDevice(ctx.device(), [&](auto on) { return CacheRun(on, ctx).TakeDirty(view); });
  ctx.Sync();
  const int64_t dirty = count.data<int64_t>()[0];
  const int64_t *const lines = list.data<int64_t>(), *const rows = lines + list.dim(1);
  for (int64_t begin = 0; begin < dirty; begin += kStagedRows) {
    const int64_t end = std::min(begin + kStagedRows, dirty);
    WriteSlots(ctx, view, {rows + begin, rows + end}, {lines + begin, lines + end});
  }
}

}  // namespace tessera::internal
