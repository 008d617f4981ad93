// The state of a growing index: saving it, and making an index from it.
#include <algorithm>
#include <utility>

#include "embedding/lookup/row_ops.h"
#include "embedding/managed_collision/growing_index.h"
#include "embedding/managed_collision/index/id_hash.h"
#include "embedding/managed_collision/index/state_reader.h"
#include "runtime/tensor.h"

namespace tessera {
namespace {

// Whether n fits a record's 32-bit count.
bool IsCount(int64_t n) { return n >= 0 && n <= int64_t{UINT32_MAX}; }

// Throws unless `free` lists the rows whose count is 0, each once.
void CheckFreeRows(const std::string& what, const std::vector<int64_t>& counts,
                   std::vector<int64_t> free) {
  std::sort(free.begin(), free.end());
  std::vector<int64_t> expected;
  for (size_t r = 0; r < counts.size(); ++r)
    if (counts[r] == 0) expected.push_back(static_cast<int64_t>(r));
  TESSERA_CHECK(free == expected, "state of {}: {} free rows, but other rows have the count 0",
                what, free.size());
}

}  // namespace

GrowingIndex::Columns GrowingIndex::ReadColumns() const {
  if (device_ != nullptr) return ReadDevice();
  Columns columns;
  for (int64_t row = 0; row < num_rows_; ++row) {
    const Record& record = records_[row];
    columns.ids.push_back(record.id);
    columns.last.push_back(record.last);
    columns.counts.push_back(record.count);
  }
  return columns;
}

std::vector<NamedTensor> GrowingIndex::StateDict(Context& ctx) const {
  SettleSync();
  const auto [ids, last, counts] = ReadColumns();
  std::vector<NamedTensor> state = {{"_growing_ids", Tensor::From(ctx, ids)},
                                    {"_growing_last_access_iter", Tensor::From(ctx, last)},
                                    {"_growing_counts", Tensor::From(ctx, counts)},
                                    {"_growing_free_rows", Tensor::From(ctx, free_)},
                                    {"_current_iter_tensor", Tensor::From<int64_t>(ctx, {now_})},
                                    {"_growing_hand", Tensor::From<int64_t>(ctx, {hand_})}};
  if (options_.admit_after > 1) {
    const internal::FrequencySketch sketch = ReadSketch();
    state.push_back({"_growing_sketch", Tensor::From(ctx, sketch.counters())});
    state.push_back({"_growing_sketch_adds", Tensor::From<int64_t>(ctx, {sketch.adds()})});
  }
  return state;
}

void GrowingIndex::LoadStateDict(Context& ctx, const std::vector<NamedTensor>& tensors) {
  const std::string what = "growing index " + options_.name;
  internal::StateReader reader(ctx, what, tensors);
  const auto numbers = [&](const char* name, int64_t size) {
    return reader.Take(name, DType::kI64, {size}).ToVector<int64_t>();
  };
  const std::vector<int64_t> ids = numbers("_growing_ids", -1);
  const auto rows = static_cast<int64_t>(ids.size());
  const std::vector<int64_t> last = numbers("_growing_last_access_iter", rows),
                             counts = numbers("_growing_counts", rows),
                             free = numbers("_growing_free_rows", -1),
                             now = numbers("_current_iter_tensor", 1),
                             hand = numbers("_growing_hand", 1);
  GrowingIndex loaded(options_);
  if (options_.admit_after > 1) {
    const auto size = static_cast<int64_t>(loaded.sketch_.counters().size());
    const int64_t adds = numbers("_growing_sketch_adds", 1)[0];
    if (adds < 0 || adds > int64_t{1} << 62)
      throw Error(Format("state of {}: _growing_sketch_adds {}; expected 0 to 2^62", what, adds));
    loaded.sketch_.Restore(reader.Take("_growing_sketch", DType::kU8, {size}).ToVector<uint8_t>(),
                           adds);
  }
  reader.Finish();
  TESSERA_CHECK_LE(rows, options_.max_rows, "state of {}: rows", what);
  CheckFreeRows(what, counts, free);
  TESSERA_CHECK(IsCount(now[0]), "state of {}: {} calls", what, now[0]);
  TESSERA_CHECK(hand[0] == 0 || IsRow(hand[0], rows), "state of {}: hand {}", what, hand[0]);
  for (size_t r = 0; r < ids.size(); ++r) {
    TESSERA_CHECK(IsCount(counts[r]) && IsCount(last[r]) && last[r] <= now[0],
                  "state of {}: row {} was named {} times, last in call {} of {}", what, r,
                  counts[r], last[r], now[0]);
    loaded.AppendRow({ids[r], static_cast<uint32_t>(last[r]), static_cast<uint32_t>(counts[r])});
  }
  SettleSync();
  loaded.reused_on_gpu_ = reused_on_gpu_;
  loaded.free_ = free;
  loaded.now_ = now[0];
  loaded.hand_ = hand[0];
  *this = std::move(loaded);
}

void GrowingIndex::AppendRow(const Record& record) {
  records_[num_rows_] = record;
  const uint64_t hash = internal::HashId(record.id);
  if (record.count > 0) {
    TESSERA_CHECK_EQ(SegmentOf(hash).Find(hash, record.id), -1,
                     "growing index {}: row of id {}, given twice", options_.name, record.id);
    Enter(hash, record.id, num_rows_);
  }
  ++num_rows_;
}

}  // namespace tessera
