#include "embedding/cache/row_cache_state.h"

#include <algorithm>

#include "runtime/base/check.h"
#include "runtime/context.h"
#include "runtime/tensor.h"

namespace tessera {
namespace {

using internal::RowPart;
using internal::RowParts;

Shape WithRows(Shape shape, int64_t rows) {
  shape[0] = rows;
  return shape;
}

// The largest power of 2 up to 16 that divides the length of a row, its address in the table (on
// disk: in the staged records), and that in the slots.
int PieceBytes(int64_t row_bytes, uint64_t in_table, const Tensor& slots) {
  const uint64_t all = static_cast<uint64_t>(row_bytes) | in_table |
                       reinterpret_cast<uint64_t>(slots.raw_data()) | 16u;
  return static_cast<int>(all & (~all + 1));
}

}  // namespace

internal::CacheView RowCache::State::View() const {
  return {{internal::RowHash::Of(num_rows()), sets, config.ways, config.policy == CachePolicy::kLfu,
           row_ids.data<int64_t>(), ranks.data<int64_t>(), locks.data<int32_t>(),
           dirty.data<uint8_t>()},
          Parts(),
          num_rows(),
          counters.data<int64_t>()};
}

RowParts RowCache::State::Parts() const {
  RowParts parts;
  parts.on_disk = disk != nullptr;
  for (size_t p = 0; p < tables.size(); ++p) {
    const int64_t row_bytes = tables[p].nbytes() / num_rows();
    char* const in_slots = static_cast<char*>(slots[p].raw_data());
    char* const table = disk ? in_slots : static_cast<char*>(tables[p].raw_data());
    const auto address = disk ? static_cast<uint64_t>(disk->table().offset(static_cast<int>(p)))
                              : reinterpret_cast<uint64_t>(table);
    const int piece_bytes = slots[p].device() == Device::Cpu()
                                ? static_cast<int>(row_bytes)
                                : PieceBytes(row_bytes, address, slots[p]);
    parts.part[parts.count++] = {.table = table,
                                 .slots = in_slots,
                                 .row_bytes = row_bytes,
                                 .table_stride = disk ? disk->table().staged_bytes() : row_bytes,
                                 .piece_bytes = piece_bytes,
                                 .first_piece = parts.pieces};
    parts.pieces += row_bytes / piece_bytes;
  }
  return parts;
}

internal::MovedTable RowCache::State::TableOf(const Batch::State& batch, bool updated) const {
  const internal::CacheView view = View();
  return {{.cache = view.cache, .counters = view.counters, .batch = batch.rows, .updated = updated},
          view.parts};
}

// Slots that never held a row are 0, so that a reader of all slots finds valid numbers.
void RowCache::State::MakeSlots(Context& ctx) {
  for (const Tensor& table : tables)
    slots.push_back(Tensor::Zeros(ctx, WithRows(table.shape(), lines() + scratch), table.dtype()));
  row_ids = Tensor::Full(ctx, {lines() + scratch}, -1, DType::kI64);
  ranks = Tensor::Full(ctx, {lines()}, -1, DType::kI64);
  locks = Tensor::Zeros(ctx, {lines()}, DType::kI32);
  dirty = Tensor::Zeros(ctx, {lines()}, DType::kU8);
}

void RowCache::State::GrowScratch(Context& ctx, int64_t rows) {
  scratch = rows;
  loaded = nullptr;
  const auto grow = [&](Tensor& tensor) {
    const Tensor wider =
        Tensor::Zeros(ctx, WithRows(tensor.shape(), lines() + scratch), tensor.dtype());
    wider.Rows(0, lines()).CopyFrom(ctx, tensor.Rows(0, lines()));
    tensor = wider;
  };
  for (Tensor& part : slots) grow(part);
  grow(row_ids);
}

void RowCache::State::ReserveScratch(Context& ctx, const Batch::State& batch) {
  // If scratch has room for all ids of the batch, the host need not wait for the count.
  const int64_t most = std::min(batch.rows.num_ids, num_rows());
  if (most <= scratch) return;
  // A little more than asked for: batches that grow step by step do not move the slots each time.
  if (!AsksForConflicts()) return GrowScratch(ctx, std::min(most + most / 8, num_rows()));
  const int64_t needed = batch.Conflicts();
  if (needed <= scratch) return;
  // Work on ctx may still use the slots that are about to be freed.
  ctx.Sync();
  GrowScratch(ctx, std::min(std::max(needed, 2 * scratch), num_rows()));
}

void RowCache::State::RecordStream(const Context& ctx) const {
  for (const Tensor& t : slots) t.RecordStream(ctx);
  if (!disk)
    for (const Tensor& t : tables) t.RecordStream(ctx);
  for (const Tensor& t : {row_ids, ranks, locks, dirty, counters}) t.RecordStream(ctx);
}

void RowCache::State::FinishReads(Context& ctx, const Batch::State& batch) {
  if (!disk) return;
  const bool all = batch.Conflicts() > 0;
  disk->FinishReads(ctx, View(), all ? calls : batch.call);
}

RowCache::Batch::State& RowCache::State::Pending(const Batch& batch) const {
  TESSERA_CHECK(std::find(pending.begin(), pending.end(), batch.state_) != pending.end(),
                "row cache: a batch that was not prefetched, or is released already");
  return *batch.state_;
}

}  // namespace tessera
