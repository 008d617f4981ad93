#ifndef TESSERA_EMBEDDING_STORAGE_ROW_LOG_H_
#define TESSERA_EMBEDDING_STORAGE_ROW_LOG_H_
// Records of equal length, one a row, in a scratch file, as a log: a record that is written goes to
// the end, with others into one large write, and an index in memory says where each row's latest
// lies. So writing needs no reading of the block around a record.
//
//   file      segments of `segment_bytes`, each free, being filled (in memory), or full
//   segment   blocks of 4 KiB, or what one record takes where that is more
//   block     ⌊block / stride⌋ records, none across a border: row number and checksum
//             (log_record.h), 8 bytes, then the record; stride: that, rounded up to 8
//   index     4 bytes a row: segment · records of one + place; kNone: the row was never written
//
// A row that was never written is made when it is read. The file has room for 1.5 × the rows (and a
// few segments): where free segments run out, the full one with the fewest live records is read,
// and these go to the end of the log.
//
// Memory: the index, and segments on their way to the disk. Reading is many blocks at once, and
// neighbours of a segment are one read. Errors of the disk lose nothing: what could not be written
// stays in memory, is tried again, and the next call says so. One host thread at a time.
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "embedding/storage/block_io.h"
#include "embedding/storage/disk_stats.h"
#include "embedding/storage/scratch_file.h"

namespace tessera {

struct RowLogOptions {
  std::string folder;         // of the scratch file; "": $TMPDIR, or /tmp
  std::string table;          // whose rows these are, for errors
  int64_t segment_bytes = 0;  // 0: as the rows need
};

class RowLog {
 public:
  // Makes the records of rows that were never written.
  using Make = std::function<void(int64_t row, char* record)>;
  // A read under way; its records are there after Wait, which throws Error where one could not be
  // read.
  using Read = std::shared_ptr<const BlockBatch>;

  // Throws Error where there is no room, or there are more rows than an index of 32 bits can name.
  RowLog(std::shared_ptr<BlockIo> io, int64_t rows, int64_t record_bytes, Make make,
         const RowLogOptions& options = {});
  ~RowLog();
  RowLog(const RowLog&) = delete;
  RowLog& operator=(const RowLog&) = delete;

  // Throws Error if something could not be written, or read to be moved, since the last call; it is
  // tried again.
  void CheckWritten();

  // Row rows[i]'s record, as it is now, goes to records + i·stride. `owner` keeps that memory.
  // REQUIRES: rows are rows.
  Read StartRead(std::span<const int64_t> rows, char* records, int64_t stride,
                 std::shared_ptr<void> owner = nullptr);
  // The record at records + i·stride becomes row rows[i]'s. Does not fail (CheckWritten).
  void Write(std::span<const int64_t> rows, const char* records, int64_t stride);

  // Returns the bytes that the scratch file of so many rows takes.
  // REQUIRES: rows and record_bytes are at least 1.
  static int64_t FileBytes(int64_t rows, int64_t record_bytes) {
    const Layout layout = LayoutOf(rows, record_bytes, 0);
    return NumSegments(rows, layout) * layout.segment_bytes;
  }

  int64_t rows() const { return static_cast<int64_t>(index_.size()); }
  int64_t record_bytes() const { return record_bytes_; }
  int64_t file_bytes() const { return file_.bytes(); }
  int64_t memory_bytes() const;
  bool direct() const { return file_.direct(); }
  int fd() const { return file_.fd(); }
  const BlockIo& io() const { return *io_; }
  const RowLogStats& stats() const { return stats_; }

 private:
  class Blocks;  // a read
  static constexpr uint32_t kNone = ~uint32_t{0};
  enum class Use : uint8_t { kFree, kFilling, kWriting, kFull };
  struct Segment {
    Use use = Use::kFree;
    int64_t live = 0;     // records that the index names
    int64_t reading = 0;  // blocks of reads that may be under way
    AlignedBytes bytes;   // while filling and writing
    std::shared_ptr<BlockBatch> write;
  };
  struct Layout {
    int64_t stride, block_bytes, per_block, per_segment, segment_bytes;
  };
  static Layout LayoutOf(int64_t rows, int64_t record_bytes, int64_t segment_bytes);
  static Layout Indexed(int64_t rows, const Layout& layout);  // checks that an index can name rows
  static int64_t NumSegments(int64_t rows, const Layout& layout);

  int64_t SegmentOf(uint32_t place) const { return place / layout_.per_segment; }
  // Offset of a record in its segment, in bytes.
  int64_t OffsetOf(uint32_t place) const;
  void Append(int64_t row, const char* record);
  void Unlink(uint32_t place);
  void Seal();
  void StartWrite(int64_t segment);
  void FinishWrites(bool wait);
  void FinishReads(bool wait);
  void TakeFreeSegment();
  int64_t FindFree();
  void MakeFree();
  bool Collect(int64_t segment);
  std::string WrongIn(const char* bytes, int64_t segment) const;

  std::shared_ptr<BlockIo> io_;
  std::string table_;
  int64_t record_bytes_;
  Layout layout_;
  Make make_;
  std::vector<uint32_t> index_;
  std::vector<Segment> segments_;
  ScratchFile file_;
  int64_t tail_ = 0, tail_records_ = 0;
  bool collecting_ = false;
  std::string failure_;                              // of writing or moving, not told yet
  std::deque<int64_t> writing_;                      // segments, oldest first
  std::vector<AlignedBytes> spare_;                  // of segment_bytes
  std::deque<std::shared_ptr<const Blocks>> reads_;  // that may be under way
  RowLogStats stats_;
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_STORAGE_ROW_LOG_H_
