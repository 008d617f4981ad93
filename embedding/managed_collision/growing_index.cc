#include "embedding/managed_collision/growing_index.h"

#include <algorithm>
#include <array>
#include <utility>

#include "embedding/managed_collision/state_reader.h"
#include "embedding/managed_collision/zch_probe.h"

namespace tessera {
namespace {

using internal::IndexGroup;
using internal::IndexSegment;

// Ids that are hashed together, and ids between asking for memory and reading it.
constexpr int64_t kBlock = 512, kAhead = 16;
// Rows that are looked at together, and for how many of them one is freed.
constexpr int64_t kWindow = 256, kSeenAVictim = 16;
// A directory of 2^32 segments would mean ids whose hashes were made to agree.
constexpr int kMaxDepth = 32;

uint64_t HashOf(int64_t id) { return internal::MurmurFinal(static_cast<uint64_t>(id)); }

IndexArray ArrayOf(const Tensor& ids) { return {ids.raw_data(), ids.dtype() == DType::kI64}; }

Tensor CheckedIds(Context& ctx, const std::string& name, const Tensor& ids) {
  TESSERA_CHECK(ctx.device() == Device::Cpu(),
                "growing index {} on {}: ids are looked up on the CPU only", name, ctx.device());
  CheckDevice(ctx, "growing index", ids);
  TESSERA_CHECK(ids.rank() == 1 && (ids.dtype() == DType::kI64 || ids.dtype() == DType::kI32),
                "growing index {}: ids {} {}; expected [N] of i32 or i64", name, ids.dtype(),
                ids.shape());
  return ids.Contiguous(ctx);
}

// Calls fn(first, hashes, n) for each block of ids in [begin, end).
template <typename Fn>
void ForBlocks(IndexArray ids, int64_t begin, int64_t end, Fn&& fn) {
  std::array<uint64_t, kBlock> hashes;
  for (int64_t first = begin; first < end; first += kBlock) {
    const int64_t n = std::min(kBlock, end - first);
    for (int64_t i = 0; i < n; ++i) hashes[static_cast<size_t>(i)] = HashOf(ids[first + i]);
    fn(first, hashes.data(), n);
  }
}

bool IsCount(int64_t n) { return n >= 0 && n <= int64_t{UINT32_MAX}; }

int64_t SketchBytes(const GrowingIndexOptions& options) {
  if (options.admit_after == 1) return 0;
  return options.sketch_bytes > 0 ? options.sketch_bytes : options.max_rows;
}

// Rows whose count is 0, each once.
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

GrowingIndex::GrowingIndex(GrowingIndexOptions options)
    : options_(std::move(options)), sketch_(SketchBytes(options_)) {
  const GrowingIndexOptions& o = options_;
  TESSERA_CHECK(o.max_rows >= 1 && o.max_rows < int64_t{1} << 32,
                "growing index {}: max_rows {}; expected at least 1 and below 2^32", o.name,
                o.max_rows);
  TESSERA_CHECK(o.admit_after >= 1 && o.admit_after <= internal::FrequencySketch::kMostCounted,
                "growing index {}: admit_after {}; expected 1 to 255", o.name, o.admit_after);
  TESSERA_CHECK_GE(o.sketch_bytes, 0, "growing index {}: sketch_bytes", o.name);
  directory_.push_back(NewSegment(0));
}

int64_t GrowingIndex::FindOne(uint64_t hash, int64_t id) const {
  return SegmentOf(hash)->Find(hash, [&](int64_t row) { return RecordOf(row).id == id; });
}

// Asks for the group of the id that comes 2·kAhead after id number i, and for the record that the
// tag of a nearer one points to: its group has come by now.
void GrowingIndex::PrefetchAhead(const uint64_t* hashes, int64_t n, int64_t i) const {
  if (const int64_t far = i + 2 * kAhead; far < n)
    __builtin_prefetch(&SegmentOf(hashes[far])->Home(hashes[far]), 1);
  const int64_t near = i + kAhead;
  if (near < 0 || near >= n) return;
  const IndexGroup& home = SegmentOf(hashes[near])->Home(hashes[near]);
  if (const unsigned same = home.Match(internal::TagOf(hashes[near])))
    __builtin_prefetch(&RecordOf(home.rows[__builtin_ctz(same)]), 1);
}

Tensor GrowingIndex::Find(Context& ctx, const Tensor& given) const {
  const Tensor ids = CheckedIds(ctx, options_.name, given);
  const IndexArray id = ArrayOf(ids);
  Tensor rows = Tensor::Empty(ctx, {ids.numel()}, DType::kI64);
  auto* row = rows.data<int64_t>();
  ParallelFor(ctx, ids.numel(), 4096, [&](int64_t begin, int64_t end) {
    ForBlocks(id, begin, end, [&](int64_t first, const uint64_t* hashes, int64_t n) {
      for (int64_t i = -2 * kAhead; i < n; ++i) {
        PrefetchAhead(hashes, n, i);
        if (i >= 0) row[first + i] = FindOne(hashes[i], id[first + i]);
      }
    });
  });
  return rows;
}

GrowingIndex::Inserted GrowingIndex::Insert(Context& ctx, const Tensor& given) {
  const Tensor ids = CheckedIds(ctx, options_.name, given);
  const IndexArray id = ArrayOf(ids);
  Inserted inserted = {Tensor::Empty(ctx, {ids.numel()}, DType::kI64), {}, {}};
  auto* row = inserted.rows.data<int64_t>();
  ++now_;
  ForBlocks(id, 0, ids.numel(), [&](int64_t first, const uint64_t* hashes, int64_t n) {
    for (int64_t i = -2 * kAhead; i < n; ++i) {
      PrefetchAhead(hashes, n, i);
      if (i >= 0) row[first + i] = InsertOne(hashes[i], id[first + i], &inserted);
    }
  });
  return inserted;
}

int64_t GrowingIndex::InsertOne(uint64_t hash, int64_t id, Inserted* inserted) {
  int64_t row = FindOne(hash, id);
  if (row < 0) {
    if (options_.admit_after > 1 && sketch_.Add(hash) < options_.admit_after) return -1;
    MakeRoomForRow();
    if (!free_.empty()) {
      row = free_.back();
      free_.pop_back();
      inserted->reused.push_back(row);
    } else if (num_rows_ < options_.max_rows) {
      row = num_rows_++;
      inserted->added.push_back(row);
    } else {
      return -1;
    }
    RecordOf(row) = {id, 0, 0};
    Enter(hash, row);
  }
  Record& record = RecordOf(row);
  record.last = static_cast<uint32_t>(now_);
  record.count += record.count < UINT32_MAX;
  return row;
}

void GrowingIndex::MakeRoomForRow() {
  if (!free_.empty()) return;
  if (num_rows_ == options_.max_rows) return EvictSome();
  if (num_rows_ == static_cast<int64_t>(chunks_.size()) * kChunkRows)
    chunks_.push_back(static_cast<Record*>(
        Allocate(std::min(kChunkRows, options_.max_rows) * int64_t{sizeof(Record)})));
}

void GrowingIndex::Enter(uint64_t hash, int64_t row) {
  IndexSegment* segment = SegmentOf(hash);
  while (segment->full()) {
    Split(segment, hash);
    segment = SegmentOf(hash);
  }
  segment->Insert(hash, static_cast<uint32_t>(row));
}

void GrowingIndex::Split(IndexSegment* segment, uint64_t hash) {
  const int depth = segment->depth();
  if (depth == depth_) {
    TESSERA_CHECK_LT(depth, kMaxDepth, "growing index {}: bits of ids' hashes that agree",
                     options_.name);
    std::vector<IndexSegment*> twice;
    twice.reserve(2 * directory_.size());
    for (IndexSegment* s : directory_) twice.insert(twice.end(), 2, s);
    directory_ = std::move(twice);
    ++depth_;
  }
  IndexSegment *low = NewSegment(depth + 1), *high = NewSegment(depth + 1);
  const auto for_rows = [&](size_t g, auto&& fn) {
    if (g >= IndexSegment::kGroups) return;
    const IndexGroup& group = segment->group(g);
    for (int i = 0; i < IndexGroup::kSlots; ++i)
      if (group.tags[i] != 0) fn(group.rows[i]);
  };
  for (size_t g = 0; g < IndexSegment::kGroups; ++g) {
    for_rows(g + 2, [&](uint32_t row) { __builtin_prefetch(&RecordOf(row)); });
    for_rows(g, [&](uint32_t row) {
      const uint64_t h = HashOf(RecordOf(row).id);
      (h >> (63 - depth) & 1 ? high : low)->Insert(h, row);
    });
  }
  // The directory's entries whose leading `depth` bits are those of the hash.
  const size_t entries = directory_.size() >> depth;
  const size_t first = (depth == 0 ? 0 : hash >> (64 - depth)) * entries;
  for (size_t i = 0; i < entries; ++i) directory_[first + i] = i < entries / 2 ? low : high;
  unused_.push_back(segment);
}

// Segments lie side by side, as many more as there are, up to 2 MiB of them.
IndexSegment* GrowingIndex::NewSegment(int depth) {
  if (unused_.empty()) {
    const auto made = static_cast<int64_t>(std::clamp<uint64_t>(segments_made_, 1, 128));
    auto* block = static_cast<IndexSegment*>(Allocate(made * int64_t{sizeof(IndexSegment)}));
    for (int64_t i = made; i-- > 0;) unused_.push_back(block + i);
  }
  IndexSegment* segment = unused_.back();
  unused_.pop_back();
  return new (segment) IndexSegment(depth, segments_made_++);
}

void* GrowingIndex::Allocate(int64_t bytes) {
  memory_.push_back(Tensor::EmptyHost({bytes}, DType::kU8));
  memory_bytes_ += bytes;
  return memory_.back().raw_data();
}

double GrowingIndex::Score(const Record& record) const {
  if (options_.score == MchEviction::kLru) return record.last;
  if (options_.score == MchEviction::kLfu) return record.count;
  return record.count / static_cast<double>(now_ - record.last + 1);
}

void GrowingIndex::EvictSome() {
  if (exhausted_at_ == now_) return;
  std::array<std::pair<double, int64_t>, kWindow> seen;
  auto end = seen.begin();
  for (int64_t looked = 0; looked < num_rows_ && end == seen.begin(); looked += kWindow)
    for (int64_t i = 0; i < std::min(kWindow, num_rows_); ++i) {
      const Record& record = RecordOf(hand_);
      if (record.count > 0 && record.last < now_) *end++ = {Score(record), hand_};
      hand_ = hand_ + 1 < num_rows_ ? hand_ + 1 : 0;
    }
  if (end == seen.begin()) exhausted_at_ = now_;
  const auto victims = (end - seen.begin() + kSeenAVictim - 1) / kSeenAVictim;
  std::partial_sort(seen.begin(), seen.begin() + victims, end);
  for (auto v = seen.begin(); v != seen.begin() + victims; ++v) {
    const uint64_t hash = HashOf(RecordOf(v->second).id);
    __builtin_prefetch(&SegmentOf(hash)->Home(hash), 1);
  }
  for (auto v = seen.begin() + victims; v-- != seen.begin();) Free(v->second);
}

void GrowingIndex::Free(int64_t row) {
  Record& record = RecordOf(row);
  const uint64_t hash = HashOf(record.id);
  SegmentOf(hash)->Erase(hash, static_cast<uint32_t>(row));
  record.count = 0;
  free_.push_back(row);
}

int64_t GrowingIndex::bytes() const {
  const auto of = [](auto count, auto size) {
    return static_cast<int64_t>(count) * static_cast<int64_t>(size);
  };
  return memory_bytes_ + of(directory_.capacity(), sizeof(directory_[0])) +
         of(unused_.capacity(), sizeof(unused_[0])) + of(free_.capacity(), sizeof(free_[0])) +
         of(sketch_.counters().size(), 1);
}

int64_t GrowingIndex::RowsWithin(int64_t bytes, int64_t row_bytes) {
  constexpr int64_t kSegment = sizeof(IndexSegment) + 4 * sizeof(void*);
  constexpr int64_t kLeastUsed = (IndexSegment::kMaxUsed - IndexSegment::kLimitSpread) / 2;
  constexpr int64_t kAnId = sizeof(Record) + kSegment / kLeastUsed + 1;
  const int64_t fixed = 128 * kSegment + kChunkRows * static_cast<int64_t>(sizeof(Record));
  return std::max<int64_t>(0, (bytes - fixed) / (row_bytes + kAnId));
}

std::vector<NamedTensor> GrowingIndex::StateDict(Context& ctx) const {
  std::vector<int64_t> ids, last, counts;
  for (int64_t row = 0; row < num_rows_; ++row) {
    const Record& record = RecordOf(row);
    ids.push_back(record.id);
    last.push_back(record.last);
    counts.push_back(record.count);
  }
  std::vector<NamedTensor> state = {{"_growing_ids", Tensor::From(ctx, ids)},
                                    {"_growing_last_access_iter", Tensor::From(ctx, last)},
                                    {"_growing_counts", Tensor::From(ctx, counts)},
                                    {"_growing_free_rows", Tensor::From(ctx, free_)},
                                    {"_current_iter_tensor", Tensor::From<int64_t>(ctx, {now_})},
                                    {"_growing_hand", Tensor::From<int64_t>(ctx, {hand_})}};
  if (options_.admit_after > 1) {
    state.push_back({"_growing_sketch", Tensor::From(ctx, sketch_.counters())});
    state.push_back({"_growing_sketch_adds", Tensor::From<int64_t>(ctx, {sketch_.adds()})});
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
    const auto size = static_cast<int64_t>(sketch_.counters().size());
    loaded.sketch_.Restore(reader.Take("_growing_sketch", DType::kU8, {size}).ToVector<uint8_t>(),
                           numbers("_growing_sketch_adds", 1)[0]);
  }
  reader.Finish();
  TESSERA_CHECK_LE(rows, options_.max_rows, "state of {}: rows", what);
  CheckFreeRows(what, counts, free);
  TESSERA_CHECK(hand[0] == 0 || IsRow(hand[0], rows), "state of {}: hand {}", what, hand[0]);
  for (size_t r = 0; r < ids.size(); ++r) {
    TESSERA_CHECK(IsCount(counts[r]) && IsCount(last[r]) && last[r] <= now[0],
                  "state of {}: row {} was named {} times, last in call {} of {}", what, r,
                  counts[r], last[r], now[0]);
    loaded.AppendRow({ids[r], static_cast<uint32_t>(last[r]), static_cast<uint32_t>(counts[r])});
  }
  loaded.free_ = free;
  loaded.now_ = now[0];
  loaded.hand_ = hand[0];
  *this = std::move(loaded);
}

void GrowingIndex::AppendRow(const Record& record) {
  MakeRoomForRow();
  RecordOf(num_rows_) = record;
  const uint64_t hash = HashOf(record.id);
  if (record.count > 0) {
    TESSERA_CHECK_EQ(FindOne(hash, record.id), -1, "growing index {}: row of id {}, given twice",
                     options_.name, record.id);
    Enter(hash, num_rows_);
  }
  ++num_rows_;
}

}  // namespace tessera
