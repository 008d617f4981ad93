#include "embedding/managed_collision/growing_index.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "embedding/lookup/index_array.h"
#include "embedding/managed_collision/growing_rows.h"
#include "embedding/managed_collision/index/id_hash.h"
#include "runtime/base/isa.h"
#include "runtime/recorded_step.h"
#include "runtime/virtual_memory.h"

namespace tessera {
namespace {

using internal::HashId;
using internal::IndexBlock;
using internal::IndexSegment;
using internal::IndexView;
#define TESSERA_USE_LEVEL_(level) namespace level = internal::level;
TESSERA_FOR_EACH_ISA(TESSERA_USE_LEVEL_)
#undef TESSERA_USE_LEVEL_

// Searches with this machine's instruction set.
struct Searcher {
  IsaLevel isa = ChosenIsa();
  // The block of `ids` from number `begin` on; none if it lies behind the end.
  void Read(IndexArray ids, int64_t begin, int64_t end, IndexBlock& block) const {
    TESSERA_CALL_ISA(isa, ReadBlock, ids, std::min(begin, end), end, block);
  }
  void Search(const IndexView& index, IndexBlock& block, const IndexBlock& next) const {
    TESSERA_CALL_ISA(isa, SearchBlock, index, block, next);
  }
};

using internal::kSeenAVictim;
using internal::MayLookAt;
constexpr int64_t kWindow = internal::kEvictionWindow;
// The fewest ids in a segment, which has just come from an early split.
constexpr int64_t kLeastUsed = (IndexSegment::kMaxUsed - IndexSegment::kLimitSpread) / 2;
constexpr int64_t kMaxSketchBytes = int64_t{1} << 40;

Tensor CheckedIds(Context& ctx, const std::string& name, const Tensor& ids) {
  CheckDevice(ctx, "growing index", ids);
  TESSERA_CHECK(ids.rank() == 1 && (ids.dtype() == DType::kI64 || ids.dtype() == DType::kI32),
                "growing index {}: ids {} {}; expected [N] of i32 or i64", name, ids.dtype(),
                ids.shape());
  return ids.Contiguous(ctx);
}

// Twice as many segments as there can be with random hashes when all have just been split.
int64_t MostSegments(int64_t rows) { return 2 * (rows / kLeastUsed) + 4; }

// The depth of a directory with at least 8 entries for each of those segments: 27 at the most rows.
// Only ids whose hashes were made to agree would need more.
int MostDepth(int64_t rows) {
  return static_cast<int>(std::bit_width(static_cast<uint64_t>(MostSegments(rows)))) + 3;
}

void CheckMaxRows(const GrowingIndexOptions& o) {
  TESSERA_CHECK(o.max_rows >= 1 && o.max_rows < int64_t{1} << 32,
                "growing index {}: max_rows {}; expected at least 1 and below 2^32", o.name,
                o.max_rows);
}

GrowingIndexOptions Checked(GrowingIndexOptions o) {
  if (o.name.empty()) o.name = "without a name";
  CheckGrowingIndexOptions(o);
  if (o.max_bytes <= 0) return o;
  o.max_rows = GrowingIndex::RowsWithin(o.max_bytes, o.row_bytes, o);
  o.max_bytes = 0;  // these options make an index of the same cap
  CheckMaxRows(o);
  return o;
}

}  // namespace

void CheckGrowingIndexOptions(const GrowingIndexOptions& o) {
  TESSERA_CHECK(o.sketch_bytes >= 0 && o.sketch_bytes <= kMaxSketchBytes,
                "growing index {}: sketch_bytes {}; expected 0 to 2^40", o.name, o.sketch_bytes);
  TESSERA_CHECK(o.admit_after >= 1 && o.admit_after <= internal::SketchLines::kMaxCounted,
                "growing index {}: admit_after {}; expected 1 to 255", o.name, o.admit_after);
  if (o.shared_rows < 1 || o.shared_rows >= int64_t{1} << 32)
    throw Error(Format("growing index {}: shared_rows {}; expected at least 1 and below 2^32",
                       o.name, o.shared_rows));
  if (o.max_bytes > 0)
    TESSERA_CHECK(o.max_rows == 0, "growing index {}: max_rows {} and max_bytes {}; expected one",
                  o.name, o.max_rows, o.max_bytes);
  else
    CheckMaxRows(o);
}

GrowingIndex::GrowingIndex(GrowingIndexOptions options)
    : options_(Checked(std::move(options))),
      sketch_(SketchBytes(options_, options_.max_rows), options_.admit_after),
      record_memory_(EmptyInVirtualMemory(
          {options_.max_rows * static_cast<int64_t>(sizeof(Record))}, DType::kU8)),
      segment_memory_(EmptyInVirtualMemory(
          {MostSegments(options_.max_rows) * static_cast<int64_t>(sizeof(IndexSegment))},
          DType::kU8)),
      records_(static_cast<Record*>(record_memory_.raw_data())),
      segments_(static_cast<IndexSegment*>(segment_memory_.raw_data())),
      segments_reserved_(MostSegments(options_.max_rows)) {
  directory_.push_back(NewSegment(0));
}

void GrowingIndex::CheckOnHost() const {
  TESSERA_CHECK(device_ == nullptr,
                "growing index {} lies on a GPU: load its state dict into one for the CPU",
                options_.name);
}

Tensor GrowingIndex::Find(Context& ctx, const Tensor& given) const {
  const Tensor ids = CheckedIds(ctx, options_.name, given);
  if (ctx.device() != Device::Cpu()) return FindOnDevice(ctx, ids);
  CheckOnHost();
  Tensor rows = Tensor::Empty(ctx, {ids.numel()}, DType::kI64);
  auto* row = rows.data<int64_t>();
  const Searcher searcher;
  ParallelFor(ctx, ids.numel(), 4096, [&](int64_t begin, int64_t end) {
    IndexBlock blocks[2];
    searcher.Read(ArrayOf(ids), begin, end, blocks[0]);
    for (int64_t at = begin, k = 0; at < end; at += IndexBlock::kIds, ++k) {
      IndexBlock &block = blocks[k % 2], &next = blocks[1 - k % 2];
      searcher.Read(ArrayOf(ids), at + IndexBlock::kIds, end, next);
      searcher.Search(View(), block, next);
      std::copy_n(block.rows, block.n, row + at);
    }
  });
  return rows;
}

// While a block's ids are entered, the records of the next one and the groups of that after it are
// on their way.
GrowingIndex::Inserted GrowingIndex::Insert(Context& ctx, const Tensor& given) {
  const Tensor ids = CheckedIds(ctx, options_.name, given);
  if (ctx.device() == Device::Cpu()) CheckOnHost();
  CheckIsNotRecording(ctx, "growing index " + options_.name, "the host counts its calls");
  ++now_;
  if (ctx.device() != Device::Cpu()) return InsertOnDevice(ctx, ids);
  may_look_until_ = looked_at_ + MayLookAt(ids.numel());
  if (size() + ids.numel() > options_.max_rows) MarkNamed(ctx, ids);
  Inserted inserted = {Tensor::Empty(ctx, {ids.numel()}, DType::kI64), {}, {}};
  auto* row = inserted.rows.data<int64_t>();
  const Searcher searcher;
  IndexBlock blocks[3];
  const auto read = [&](int64_t k) {
    searcher.Read(ArrayOf(ids), k * IndexBlock::kIds, ids.numel(), blocks[k % 3]);
  };
  const auto search = [&](int64_t k) {
    IndexBlock& block = blocks[k % 3];
    searcher.Search(View(), block, blocks[(k + 1) % 3]);
    for (int64_t i = 0; i < block.n; ++i)
      if (block.rows[i] >= 0) __builtin_prefetch(&records_[block.rows[i]], 1);
  };
  read(0);
  read(1);
  search(0);
  for (int64_t k = 0; k * IndexBlock::kIds < ids.numel(); ++k) {
    read(k + 2);
    search(k + 1);
    const IndexBlock& block = blocks[k % 3];
    for (int64_t i = 0; i < block.n; ++i)
      *row++ = InsertOne(block.hashes[i], block.ids[i], block.rows[i], &inserted);
  }
  sketch_.Fade();
  return inserted;
}

void GrowingIndex::MarkNamed(Context& ctx, const Tensor& ids) {
  constexpr size_t kAhead = 16;
  const Tensor found = Find(ctx, ids);
  const auto rows = found.span<int64_t>();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i + kAhead < rows.size() && rows[i + kAhead] >= 0)
      __builtin_prefetch(&records_[rows[i + kAhead]], 1);
    if (rows[i] >= 0) records_[rows[i]].last = static_cast<uint32_t>(now_);
  }
}

// found: the id's place when its block was searched. Ids before it may since have taken its row, or
// brought the id itself.
int64_t GrowingIndex::InsertOne(uint64_t hash, int64_t id, int64_t found, Inserted* inserted) {
  int64_t row = found;
  if (row < 0 || records_[row].id != id || records_[row].count == 0)
    row = SegmentOf(hash).Find(hash, id);
  if (row < 0) row = RowForNew(hash, id, inserted);
  if (row < 0) return -1;
  Record& record = records_[row];
  record.last = static_cast<uint32_t>(now_);
  record.count += record.count < UINT32_MAX;
  return row;
}

int64_t GrowingIndex::RowForNew(uint64_t hash, int64_t id, Inserted* inserted) {
  if (options_.admit_after > 1 && sketch_.Add(hash) < options_.admit_after) return -1;
  if (free_.empty() && num_rows_ == options_.max_rows) EvictSome();
  const bool reuses = !free_.empty();
  if (!reuses && num_rows_ == options_.max_rows) return -1;
  const int64_t row = reuses ? free_.back() : num_rows_;
  Enter(hash, id, row);  // if it throws, nobody has the row
  if (reuses)
    free_.pop_back();
  else
    ++num_rows_;
  (reuses ? inserted->reused : inserted->added).push_back(row);
  records_[row] = {id, 0, 0};
  return row;
}

void GrowingIndex::Enter(uint64_t hash, int64_t id, int64_t row) {
  IndexSegment* segment = &SegmentOf(hash);
  while (segment->full()) {
    Split(static_cast<uint32_t>(segment - segments_), hash);
    segment = &SegmentOf(hash);
  }
  segment->Insert(hash, id, static_cast<uint32_t>(row));
}

void GrowingIndex::Split(uint32_t number, uint64_t hash) {
  const int depth = segments_[number].depth();
  if (depth == depth_) {
    TESSERA_CHECK(depth < MostDepth(options_.max_rows),
                  "growing index {}: a segment is full of ids whose hashes have the same first {} "
                  "bits; expected fewer bits of any ids that were not made so",
                  options_.name, depth);
    std::vector<uint32_t> twice;
    twice.reserve(2 * directory_.size());
    for (const uint32_t s : directory_) twice.insert(twice.end(), 2, s);
    directory_ = std::move(twice);
    ++depth_;
  }
  const uint32_t low = NewSegment(depth + 1), high = NewSegment(depth + 1);
  segments_[number].ForEach([&](int64_t id, uint32_t row) {
    const uint64_t h = HashId(id);
    segments_[h >> (63 - depth) & 1 ? high : low].Insert(h, id, row);
  });
  // The directory's entries whose leading `depth` bits are those of the hash.
  const size_t entries = directory_.size() >> depth;
  const size_t first = (depth == 0 ? 0 : hash >> (64 - depth)) * entries;
  for (size_t i = 0; i < entries; ++i) directory_[first + i] = i < entries / 2 ? low : high;
  unused_.push_back(number);
}

uint32_t GrowingIndex::NewSegment(int depth) {
  uint32_t number = segments_touched_;
  if (unused_.empty()) {
    TESSERA_CHECK_LT(int64_t{segments_touched_}, segments_reserved_,
                     "growing index {}: segments, of ids whose hashes agree", options_.name);
    ++segments_touched_;
  } else {
    number = unused_.back();
    unused_.pop_back();
  }
  new (&segments_[number]) IndexSegment(depth, segments_made_++);
  return number;
}

double GrowingIndex::Score(const Record& record) const {
  return internal::GrowingScore{options_.score, now_}.Of(record.last, record.count);
}

void GrowingIndex::EvictSome() {
  std::array<std::pair<double, int64_t>, kWindow> seen;
  auto end = seen.begin();
  for (int64_t looked = 0; looked < num_rows_ && end == seen.begin(); looked += kWindow) {
    if (looked_at_ >= may_look_until_) return;
    const int64_t window = std::min(kWindow, num_rows_);
    looked_at_ += window;
    for (int64_t i = 0; i < window; ++i) {
      const Record& record = records_[hand_];
      if (record.count > 0 && record.last < now_) *end++ = {Score(record), hand_};
      hand_ = hand_ + 1 < num_rows_ ? hand_ + 1 : 0;
    }
  }
  if (end == seen.begin()) may_look_until_ = looked_at_;  // all rows are named by this call
  const auto victims = (end - seen.begin() + kSeenAVictim - 1) / kSeenAVictim;
  std::partial_sort(seen.begin(), seen.begin() + victims, end);
  for (auto v = seen.begin(); v != seen.begin() + victims; ++v) {
    const uint64_t hash = HashId(records_[v->second].id);
    __builtin_prefetch(&SegmentOf(hash).Home(hash), 1);
  }
  for (auto v = seen.begin() + victims; v-- != seen.begin();) Free(v->second);
}

void GrowingIndex::Free(int64_t row) {
  Record& record = records_[row];
  const uint64_t hash = HashId(record.id);
  SegmentOf(hash).Erase(hash, record.id);
  record.count = 0;
  free_.push_back(row);
}

int64_t GrowingIndex::bytes() const {
  SettleSync();
  const auto of = [](auto count, auto size) {
    return static_cast<int64_t>(count) * static_cast<int64_t>(size);
  };
  const int64_t records = device_ == nullptr ? num_rows_ : records_moved_;
  return TouchedBytes(of(records, sizeof(Record)), record_memory_.nbytes()) +
         TouchedBytes(of(segments_touched_, sizeof(IndexSegment)), segment_memory_.nbytes()) +
         of(directory_.capacity() + unused_.capacity(), sizeof(uint32_t)) +
         of(free_.capacity(), sizeof(free_[0])) + of(sketch_.counters().size(), 1) + DeviceBytes();
}

int64_t GrowingIndex::SketchBytes(const GrowingIndexOptions& options, int64_t rows) {
  if (options.admit_after == 1) return 0;
  return internal::FrequencySketch::RoundedBytes(options.sketch_bytes > 0 ? options.sketch_bytes
                                                                          : 4 * rows);
}

int64_t GrowingIndex::MostBytes(const GrowingIndexOptions& options, int64_t rows,
                                int64_t row_bytes) {
  constexpr int64_t kRecord = 16, kSegment = sizeof(IndexSegment) + 8 * sizeof(uint32_t);
  const int64_t segments = rows / kLeastUsed + 2;
  return rows * row_bytes + TouchedBytes(rows * kRecord, rows * kRecord) +
         TouchedBytes(segments * kSegment, MostSegments(rows) * kSegment) +
         SketchBytes(options, rows);
}

int64_t GrowingIndex::RowsWithin(int64_t bytes, int64_t row_bytes,
                                 const GrowingIndexOptions& options) {
  TESSERA_CHECK(row_bytes >= 1, "growing index {}: a row of {} bytes", options.name, row_bytes);
  int64_t fit = 0, too_many = std::min(bytes / row_bytes + 1, int64_t{1} << 32);
  while (too_many - fit > 1) {
    const int64_t middle = fit + (too_many - fit) / 2;
    (MostBytes(options, middle, row_bytes) <= bytes ? fit : too_many) = middle;
  }
  TESSERA_CHECK(fit >= 1,
                "growing index {}: {} bytes have no room for one row of {} bytes, which takes {} "
                "with its index",
                options.name, bytes, row_bytes, MostBytes(options, 1, row_bytes));
  return fit;
}

}  // namespace tessera
