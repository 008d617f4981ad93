#ifndef TESSERA_EMBEDDING_MANAGED_COLLISION_GROWING_INDEX_H_
#define TESSERA_EMBEDDING_MANAGED_COLLISION_GROWING_INDEX_H_
// Maps any 64-bit ids to row numbers 0, 1, 2, … of a table that grows with them, up to a cap; then
// rows go from ids with low scores to new ones.
//
//   directory   the leading bits of an id's hash -> a segment of 2,560 slots (index_segment.h)
//   records     of a row: id, when it was named last, how often; 16 bytes
//
// Nothing is ever rehashed as a whole: a segment that is full splits in two by the next bit of the
// hash, and the directory, 4 bytes a segment, doubles where no bit is left. Segments and records
// lie in addresses reserved for the cap (runtime/virtual_memory.h) and never move. An id costs 64/5
// bytes over the segments' load (0.28 to 0.75) and its record: 33 to 61 bytes.
//
// At the cap, rows are looked at 256 at a time, going round, and of those that the current call has
// not named one in 16, those with the lowest scores (of equals, the lowest rows), are freed:
//
//   LRU            last
//   LFU            count
//   DISTANCE_LFU   count / (now − last + 1)
//
// A call looks at no more than 2^20 rows and 32 for each of its ids: ids that find no row by then
// have none in this call.
//
// now: calls of Insert so far. Rows that a call names, whichever of its ids does, are not freed in
// it.
//
// Find may run beside Find, but not beside Insert. The first use on a GPU moves the index there,
// where rows, states and evictions are the same (growing_rows.h): nothing may run beside that use,
// and none on the CPU may follow but LoadStateDict. Insert does not wait for the GPU; the
// numbers of rows do after it.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "embedding/managed_collision/index/frequency_sketch.h"
#include "embedding/managed_collision/index/index_search.h"
#include "embedding/managed_collision/mch_managed_collision_module.h"
#include "runtime/named_parameter.h"
#include "runtime/staging.h"
#include "runtime/tensor.h"

namespace tessera {

namespace internal {
struct GrowingRows;
}  // namespace internal

struct GrowingIndexOptions {
  int64_t max_rows = 0;                   // below 2^32
  MchEviction score = MchEviction::kLru;  // what is evicted at the cap
  // An id gets a row when it has been named about admit_after times, 1 to 255. Counts are kept in a
  // sketch of about sketch_bytes (0: 4 · max_rows), and fade: those of the last
  // max_rows · admit_after / 2 or so ids without a row count (frequency_sketch.h). Ids that share
  // counters get rows earlier; an id whose counters are halved between two of its times gets one
  // later: of fewer uniform ids than that, 3 to 6 % came for the admit_after-th time or more and
  // got no row, and 0.3 % or fewer got one before.
  int64_t admit_after = 1;
  int64_t sketch_bytes = 0;
  // Above 0, instead of max_rows: as many rows as these bytes have room for (RowsWithin), where a
  // row with its optimizer state takes row_bytes.
  int64_t max_bytes = 0, row_bytes = 0;
  // Number of rows of a GrowingManagedCollisionModule's table that ids without a row share.
  int64_t shared_rows = 1;
  std::string name = {};  // for errors
};

// Throws Error for options that make no sense, naming the one.
void CheckGrowingIndexOptions(const GrowingIndexOptions& options);

class GrowingIndex {
 public:
  explicit GrowingIndex(GrowingIndexOptions options);
  GrowingIndex(GrowingIndex&&) = default;
  GrowingIndex& operator=(GrowingIndex&&) = default;

  // The row of each id, or −1: i64 [N]. ids: [N], i32 or i64.
  Tensor Find(Context& ctx, const Tensor& ids) const;

  struct Inserted {
    Tensor rows;                 // i64 [N]; −1: not admitted, or all rows were named by this call
    std::vector<int64_t> added;  // rows that nobody had before, ascending
    std::vector<int64_t> reused;  // rows that went from one id to another, in that order
    // After an Insert on a GPU: what added and reused will hold after ReadSync (growing_rows.h).
    Tensor given = {};
    void ReadSync();
  };
  // Looks ids up, and gives rows to ids that have none, as admit_after says. Every occurrence
  // counts. On the CPU, throws Error for ids that were made so that their hashes agree; those
  // before have rows then.
  Inserted Insert(Context& ctx, const Tensor& ids);

  int64_t max_rows() const { return options_.max_rows; }
  // Rows that ids have.
  int64_t size() const {
    SettleSync();
    return num_rows_ - static_cast<int64_t>(free_.size());
  }
  // Rows that ids have or had: all of Find's are below it.
  int64_t num_rows() const {
    SettleSync();
    return num_rows_;
  }
  // Bounds of num_rows(), by what the host knows. These wait for nothing.
  int64_t least_num_rows() const { return num_rows_; }
  int64_t most_num_rows() const;
  // Times that a row went from one id to another on a GPU.
  int64_t num_reused_on_gpu() const {
    SettleSync();
    return reused_on_gpu_;
  }
  // Bytes that the index takes in memory, without the rows themselves.
  int64_t bytes() const;
  // Rows looked at so far by evictions.
  int64_t rows_looked_at() const {
    SettleSync();
    return looked_at_;
  }
  // Bytes of the sketch of an index of so many rows.
  static int64_t SketchBytes(const GrowingIndexOptions& options, int64_t rows);
  // The most bytes that so many rows take with the index, at its worst load, and its sketch, if a
  // row and its optimizer state take row_bytes.
  static int64_t MostBytes(const GrowingIndexOptions& options, int64_t rows, int64_t row_bytes = 0);
  // Returns the number of rows that fit in `bytes` together with their part of the index, at its
  // worst load, and its sketch, if a row and its optimizer state take row_bytes. Throws Error, with
  // options.name, if not even one does.
  static int64_t RowsWithin(int64_t bytes, int64_t row_bytes,
                            const GrowingIndexOptions& options = {});

  //   _growing_ids, _growing_last_access_iter, _growing_counts   i64 [num_rows]; count 0: free
  //   _growing_free_rows                                         i64 [k], the next one last
  //   _current_iter_tensor, _growing_hand                        i64 [1]
  //   _growing_sketch u8 [bytes], _growing_sketch_adds i64 [1]   with admit_after above 1
  std::vector<NamedTensor> StateDict(Context& ctx) const;
  // Throws Error, and changes nothing, for what is no such state, or more rows than max_rows.
  void LoadStateDict(Context& ctx, const std::vector<NamedTensor>& tensors);

 private:
  struct Columns {
    std::vector<int64_t> ids, last, counts;  // [num_rows]
  };
  struct Record {
    int64_t id = 0;
    uint32_t last = 0, count = 0;
  };
  // Throws Error if the index lies on a GPU.
  void CheckOnHost() const;
  internal::IndexView View() const { return {segments_, directory_.data(), depth_}; }
  internal::IndexSegment& SegmentOf(uint64_t hash) const { return View().SegmentOf(hash); }
  int64_t InsertOne(uint64_t hash, int64_t id, int64_t found, Inserted* inserted);
  // A row for an id that has none, or −1.
  int64_t RowForNew(uint64_t hash, int64_t id, Inserted* inserted);
  // Puts a row under the hash of its id.
  void Enter(uint64_t hash, int64_t id, int64_t row);
  void Split(uint32_t segment, uint64_t hash);
  uint32_t NewSegment(int depth);
  void EvictSome();
  void Free(int64_t row);
  double Score(const Record& record) const;
  // So that evictions leave them alone: ids of this call that have rows are named now.
  void MarkNamed(Context& ctx, const Tensor& ids);
  // A row of a state.
  void AppendRow(const Record& record);
  Columns ReadColumns() const;

  // Moves the index to a GPU (growing_rows.h).
  void MoveTo(Context& ctx) const;
  Tensor FindOnDevice(Context& ctx, const Tensor& ids) const;
  Inserted InsertOnDevice(Context& ctx, const Tensor& ids);
  // Reads the numbers that a GPU has changed.
  void SettleSync() const;
  // Lowers the most rows that a GPU may have, if a count of them has come by now.
  void HearOfRows();
  Columns ReadDevice() const;
  internal::FrequencySketch ReadSketch() const;
  int64_t DeviceBytes() const;

  GrowingIndexOptions options_;
  mutable internal::FrequencySketch sketch_;  // empty once a GPU has the index
  Tensor record_memory_, segment_memory_;     // reserved
  Record* records_;                           // [max_rows]
  mutable int64_t records_moved_ = 0;         // to a GPU; they stay in the host's memory, too
  internal::IndexSegment* segments_;
  int64_t segments_reserved_;
  std::vector<uint32_t> directory_;  // 2^depth_ segments
  int depth_ = 0;
  uint32_t segments_made_ = 0, segments_touched_ = 0;
  std::vector<uint32_t> unused_;  // segments that were split
  // These are as of the last SettleSync once a GPU has the index.
  mutable int64_t num_rows_ = 0, hand_ = 0, looked_at_ = 0, reused_on_gpu_ = 0;
  mutable std::vector<int64_t> free_;
  int64_t now_ = 0;
  int64_t may_look_until_ = 0;                             // in this call
  mutable std::shared_ptr<internal::GrowingRows> device_;  // once a GPU has asked
  // A GPU's numbers on their way, and the ids that it was given since.
  struct Report {
    HostCopy numbers;
    int64_t given_since = 0;
  };
  mutable std::optional<Report> report_;
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_MANAGED_COLLISION_GROWING_INDEX_H_
