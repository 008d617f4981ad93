#include "embedding/storage/row_log.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "embedding/storage/log_record.h"
#include "runtime/base/check.h"
#include "runtime/base/division.h"

namespace tessera {
namespace {

using internal::HeaderOf;
using internal::LogRecordHeader;
using internal::RoundUp;

constexpr int64_t kHeaderBytes = sizeof(LogRecordHeader);
constexpr int64_t kMaxSegmentBytes = 1 << 20;
// Free segments that are kept, and segments whose writes may be under way before anybody waits.
constexpr int64_t kSpareSegments = 2, kMaxWriting = 4;
constexpr int64_t kMoreSegments = kSpareSegments + kMaxWriting + 2;

// Whether a read has a block already, or can have it, as its next one, too.
bool Joins(const BlockOp& read, int64_t block, int64_t block_bytes) {
  const int64_t end = read.offset + read.bytes;
  return block < end || (block == end && read.bytes + block_bytes <= kOwnReadBytes);
}

// "" for a whole record of `row`, else a sentence about what is wrong; place: its offset in the
// file.
std::string WrongRecord(const char* at, int64_t row, int64_t record_bytes, const std::string& table,
                        int64_t place) {
  LogRecordHeader found;
  std::memcpy(&found, at, sizeof found);
  const LogRecordHeader expected = HeaderOf(row, at + kHeaderBytes, record_bytes);
  if (found.row == expected.row && found.sum == expected.sum) return "";
  return Format("rows on disk: row {}{} is not what was written, at byte {} of the scratch file",
                row, table.empty() ? "" : " of table " + table, place);
}

}  // namespace

// The blocks that a read needs, and what is taken out of each.
class RowLog::Blocks final : public BlockBatch {
 public:
  struct Copy {
    int64_t row, at;  // in what is read
    char* to;
  };
  Blocks(std::vector<BlockOp> ops, std::vector<size_t> first, std::vector<Copy> copies,
         int64_t record_bytes, const std::string& table, std::vector<int64_t> segments,
         std::shared_ptr<void> owner)
      : BlockBatch(std::move(ops)),
        first_(std::move(first)),
        copies_(std::move(copies)),
        record_bytes_(record_bytes),
        table_(table),
        segments_(std::move(segments)),
        owner_(std::move(owner)) {}
  const std::vector<int64_t>& segments() const { return segments_; }  // of each op

 protected:
  std::string Take(size_t op, const char* bytes) override {
    for (size_t i = first_[op]; i < first_[op + 1]; ++i) {
      const auto [row, at, to] = copies_[i];
      std::string wrong =
          WrongRecord(bytes + at, row, record_bytes_, table_, ops()[op].offset + at);
      if (!wrong.empty()) return wrong;
      std::memcpy(to, bytes + at + kHeaderBytes, static_cast<size_t>(record_bytes_));
    }
    return "";
  }

 private:
  std::vector<size_t> first_;  // of each op, among the copies
  std::vector<Copy> copies_;
  int64_t record_bytes_;
  std::string table_;
  std::vector<int64_t> segments_;
  std::shared_ptr<void> owner_;
};

// A table of up to 64 blocks, and no more, fills segments of one block: segments are 1/64 of the
// rows otherwise.
RowLog::Layout RowLog::LayoutOf(int64_t rows, int64_t record_bytes, int64_t segment_bytes) {
  TESSERA_CHECK(rows >= 1 && record_bytes >= 1, "rows on disk: {} rows of {} bytes", rows,
                record_bytes);
  Layout layout;
  layout.stride = RoundUp(record_bytes + kHeaderBytes, kHeaderBytes);
  layout.block_bytes = RoundUp(layout.stride, kBlockBytes);
  layout.per_block = layout.block_bytes / layout.stride;
  const int64_t all = (rows + layout.per_block - 1) / layout.per_block * layout.block_bytes;
  if (segment_bytes == 0) segment_bytes = std::min(kMaxSegmentBytes, all / 64);
  const int64_t blocks = std::max<int64_t>(1, segment_bytes / layout.block_bytes);
  layout.segment_bytes = blocks * layout.block_bytes;
  layout.per_segment = blocks * layout.per_block;
  return layout;
}

RowLog::Layout RowLog::Indexed(int64_t rows, const Layout& layout) {
  const int64_t places = NumSegments(rows, layout) * layout.per_segment;
  TESSERA_CHECK_LT(places, int64_t{kNone}, "rows on disk: places of {} rows", rows);
  return layout;
}

int64_t RowLog::NumSegments(int64_t rows, const Layout& layout) {
  return (rows + rows / 2) / layout.per_segment + 1 + kMoreSegments;
}

RowLog::RowLog(std::shared_ptr<BlockIo> io, int64_t rows, int64_t record_bytes, Make make,
               const RowLogOptions& options)
    : io_(std::move(io)),
      table_(options.table),
      record_bytes_(record_bytes),
      layout_(Indexed(rows, LayoutOf(rows, record_bytes, options.segment_bytes))),
      make_(std::move(make)),
      index_(static_cast<size_t>(rows), kNone),
      segments_(static_cast<size_t>(NumSegments(rows, layout_))),
      file_(options.folder, std::ssize(segments_) * layout_.segment_bytes) {
  TakeFreeSegment();
}

// Reads and writes under way use this file and our memory, so they are waited for.
RowLog::~RowLog() {
  for (const auto& read : reads_) try {
      read->Wait();
    } catch (const Error&) {
    }
  for (const int64_t segment : writing_) try {
      segments_[static_cast<size_t>(segment)].write->Wait();
    } catch (const Error&) {
    }
}

int64_t RowLog::memory_bytes() const {
  int64_t bytes = std::ssize(index_) * static_cast<int64_t>(sizeof(uint32_t)) +
                  std::ssize(spare_) * layout_.segment_bytes;
  for (const Segment& segment : segments_)
    if (segment.bytes) bytes += layout_.segment_bytes;
  return bytes;
}

int64_t RowLog::OffsetOf(uint32_t place) const {
  const int64_t record = place % layout_.per_segment;
  return record / layout_.per_block * layout_.block_bytes +
         record % layout_.per_block * layout_.stride;
}

void RowLog::CheckWritten() {
  FinishWrites(/*wait=*/false);
  if (!failure_.empty()) throw Error(std::exchange(failure_, ""));
}

RowLog::Read RowLog::StartRead(std::span<const int64_t> rows, char* records, int64_t stride,
                               std::shared_ptr<void> owner) {
  FinishReads(/*wait=*/false);
  std::vector<std::pair<uint32_t, uint32_t>> places;  // on disk; which of `rows`
  for (size_t i = 0; i < rows.size(); ++i) {
    char* const to = records + static_cast<int64_t>(i) * stride;
    const uint32_t place = index_[static_cast<size_t>(rows[i])];
    if (place == kNone) {
      ++stats_.rows_made;
      make_(rows[i], to);
      continue;
    }
    const Segment& segment = segments_[static_cast<size_t>(SegmentOf(place))];
    if (segment.bytes)
      std::memcpy(to, segment.bytes.get() + OffsetOf(place) + kHeaderBytes,
                  static_cast<size_t>(record_bytes_));
    else
      places.emplace_back(place, static_cast<uint32_t>(i));
  }
  stats_.rows_read += std::ssize(rows);
  std::sort(places.begin(), places.end());

  std::vector<BlockOp> ops;
  std::vector<size_t> first;
  std::vector<Blocks::Copy> copies;
  std::vector<int64_t> segments;
  for (const auto& [place, i] : places) {
    const int64_t segment = SegmentOf(place), offset = OffsetOf(place);
    const int64_t in_block = offset % layout_.block_bytes;
    const int64_t block = segment * layout_.segment_bytes + offset - in_block;
    if (ops.empty() || segments.back() != segment ||
        !Joins(ops.back(), block, layout_.block_bytes)) {
      ops.push_back({.fd = file_.fd(), .offset = block, .bytes = 0});
      first.push_back(copies.size());
      segments.push_back(segment);
      ++segments_[static_cast<size_t>(segment)].reading;
    }
    BlockOp& op = ops.back();
    stats_.blocks_read += block == op.offset + op.bytes;
    op.bytes = block + layout_.block_bytes - op.offset;
    copies.push_back({rows[i], block - op.offset + in_block, records + int64_t{i} * stride});
  }
  first.push_back(copies.size());
  const auto read =
      std::make_shared<Blocks>(std::move(ops), std::move(first), std::move(copies), record_bytes_,
                               table_, std::move(segments), std::move(owner));
  if (read->ops().empty()) return read;
  reads_.push_back(read);
  io_->Start(read);
  return read;
}

void RowLog::Write(std::span<const int64_t> rows, const char* records, int64_t stride) {
  FinishWrites(/*wait=*/false);
  for (size_t i = 0; i < rows.size(); ++i)
    Append(rows[i], records + static_cast<int64_t>(i) * stride);
  stats_.rows_written += std::ssize(rows);
}

void RowLog::Append(int64_t row, const char* record) {
  uint32_t& entry = index_[static_cast<size_t>(row)];
  const bool in_tail = entry != kNone && SegmentOf(entry) == tail_;
  if (!in_tail) {
    // Seal may move this row. After errors it moves several segments, which may fill the next one.
    while (tail_records_ == layout_.per_segment) Seal();
    if (entry != kNone) Unlink(entry);
    entry = static_cast<uint32_t>(tail_ * layout_.per_segment + tail_records_++);
    ++segments_[static_cast<size_t>(tail_)].live;
  }
  char* const to = segments_[static_cast<size_t>(tail_)].bytes.get() + OffsetOf(entry);
  const LogRecordHeader header = HeaderOf(row, record, record_bytes_);
  std::memcpy(to, &header, sizeof header);
  std::memcpy(to + kHeaderBytes, record, static_cast<size_t>(record_bytes_));
}

void RowLog::Unlink(uint32_t place) {
  Segment& segment = segments_[static_cast<size_t>(SegmentOf(place))];
  if (--segment.live == 0 && segment.use == Use::kFull) segment.use = Use::kFree;
}

void RowLog::Seal() {
  Segment& full = segments_[static_cast<size_t>(tail_)];
  full.use = Use::kWriting;
  StartWrite(tail_);
  writing_.push_back(tail_);
  FinishWrites(/*wait=*/std::ssize(writing_) > kMaxWriting);
  TakeFreeSegment();
  if (!collecting_) MakeFree();
}

void RowLog::StartWrite(int64_t segment) {
  Segment& full = segments_[static_cast<size_t>(segment)];
  full.write =
      std::make_shared<BlockBatch>(std::vector{BlockOp{.fd = file_.fd(),
                                                       .offset = segment * layout_.segment_bytes,
                                                       .bytes = layout_.segment_bytes,
                                                       .memory = full.bytes.get(),
                                                       .write = true}});
  io_->Start(full.write);
}

// Ends writes that are done; `wait` waits for the oldest. A write that failed is started again.
void RowLog::FinishWrites(bool wait) {
  for (size_t left = writing_.size(); left > 0; --left) {
    const int64_t index = writing_.front();
    Segment& segment = segments_[static_cast<size_t>(index)];
    if (!wait && !segment.write->done()) return;
    wait = false;
    writing_.pop_front();
    try {
      segment.write->Wait();
    } catch (const Error& error) {
      failure_ = error.what();
      StartWrite(index);
      writing_.push_back(index);
      continue;
    }
    spare_.push_back(std::move(segment.bytes));
    segment.write = nullptr;
    segment.use = segment.live == 0 ? Use::kFree : Use::kFull;
  }
}

void RowLog::FinishReads(bool wait) {
  while (!reads_.empty()) {
    if (wait && !reads_.front()->done()) try {
        reads_.front()->Wait();
      } catch (const Error&) {  // who reads is told
      }
    if (!reads_.front()->done()) return;
    wait = false;
    for (const int64_t segment : reads_.front()->segments())
      --segments_[static_cast<size_t>(segment)].reading;
    reads_.pop_front();
  }
}

int64_t RowLog::FindFree() {
  for (size_t s = 0; s < segments_.size(); ++s)
    if (segments_[s].use == Use::kFree && segments_[s].reading == 0) return static_cast<int64_t>(s);
  return -1;
}

// Waits for reads that hold a free segment back. If disk errors keep all others in memory, a
// segment past the end of the file is added.
void RowLog::TakeFreeSegment() {
  FinishReads(/*wait=*/false);
  int64_t found = FindFree();
  while (found < 0 && !reads_.empty()) {
    FinishReads(/*wait=*/true);
    found = FindFree();
  }
  if (found < 0) {
    found = std::ssize(segments_);
    segments_.emplace_back();
  }
  tail_ = found;
  tail_records_ = 0;
  Segment& tail = segments_[static_cast<size_t>(tail_)];
  tail.use = Use::kFilling;
  if (spare_.empty()) {
    tail.bytes = AllocateAligned(layout_.segment_bytes);
    std::memset(tail.bytes.get(), 0, static_cast<size_t>(layout_.segment_bytes));
    return;
  }
  tail.bytes = std::move(spare_.back());
  spare_.pop_back();
}

void RowLog::MakeFree() {
  collecting_ = true;
  for (;;) {
    int64_t free = 0, victim = -1;
    for (size_t s = 0; s < segments_.size(); ++s) {
      const Segment& segment = segments_[s];
      free += segment.use == Use::kFree;
      if (segment.use == Use::kFull &&
          (victim < 0 || segment.live < segments_[static_cast<size_t>(victim)].live))
        victim = static_cast<int64_t>(s);
    }
    if (free >= kSpareSegments || victim < 0) break;
    // A segment whose records are all live frees nothing; it is chosen only while errors keep
    // others in memory.
    if (segments_[static_cast<size_t>(victim)].live == layout_.per_segment) break;
    if (!Collect(victim)) break;
  }
  collecting_ = false;
}

// "" if all live records of a segment, read into `bytes`, are what was written.
std::string RowLog::WrongIn(const char* bytes, int64_t segment) const {
  const auto first = static_cast<uint32_t>(segment * layout_.per_segment);
  int64_t live = 0;
  for (uint32_t i = 0; i < static_cast<uint32_t>(layout_.per_segment); ++i) {
    const int64_t offset = OffsetOf(first + i);
    LogRecordHeader header;
    std::memcpy(&header, bytes + offset, sizeof header);
    if (header.row >= rows() || index_[header.row] != first + i) continue;
    ++live;
    std::string wrong = WrongRecord(bytes + offset, header.row, record_bytes_, table_,
                                    segment * layout_.segment_bytes + offset);
    if (!wrong.empty()) return wrong;
  }
  const int64_t expected = segments_[static_cast<size_t>(segment)].live;
  if (live == expected) return "";
  return Format(
      "rows on disk{}: {} of {} rows of the {} bytes at {} of the scratch file are not what "
      "was written",
      table_.empty() ? "" : " of table " + table_, expected - live, expected, layout_.segment_bytes,
      segment * layout_.segment_bytes);
}

// Moves a segment's live records to the end of the log. False if it cannot be read.
bool RowLog::Collect(int64_t segment) {
  AlignedBytes bytes = AllocateAligned(layout_.segment_bytes);
  const auto read =
      std::make_shared<BlockBatch>(std::vector{BlockOp{.fd = file_.fd(),
                                                       .offset = segment * layout_.segment_bytes,
                                                       .bytes = layout_.segment_bytes,
                                                       .memory = bytes.get()}});
  io_->Start(read);
  try {
    read->Wait();
  } catch (const Error& error) {
    failure_ = error.what();
    return false;
  }
  const auto first = static_cast<uint32_t>(segment * layout_.per_segment);
  if (std::string wrong = WrongIn(bytes.get(), segment); !wrong.empty()) {
    failure_ = std::move(wrong);
    return false;
  }
  for (uint32_t i = 0; i < static_cast<uint32_t>(layout_.per_segment); ++i) {
    const char* const record = bytes.get() + OffsetOf(first + i);
    LogRecordHeader header;
    std::memcpy(&header, record, sizeof header);
    if (header.row >= rows() || index_[header.row] != first + i) continue;
    Append(header.row, record + kHeaderBytes);
    ++stats_.rows_moved;
  }
  return true;
}

}  // namespace tessera
