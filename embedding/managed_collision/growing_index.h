#ifndef TESSERA_EMBEDDING_MANAGED_COLLISION_GROWING_INDEX_H_
#define TESSERA_EMBEDDING_MANAGED_COLLISION_GROWING_INDEX_H_
// From any 64-bit ids to row numbers 0, 1, 2, … of a table that grows with them, up to a cap; then
// rows go from ids with low scores to new ones.
//
//   directory   the leading bits of an id's hash -> a segment of 3,072 slots (index_segment.h)
//   records     of a row: id, when it was named last, how often; 16 bytes, in chunks of 2 MiB
//
// Nothing is ever rehashed as a whole: a segment that is full splits in two by the next bit of the
// hash, and the directory, 8 bytes a segment, doubles where no bit is left. Records do not move.
// An id costs 64/12 bytes over the segments' load (1/3 to 7/8) and its record: 22 to 32 bytes.
//
// At the cap, rows are looked at 256 at a time, going round, and of those that the current call has
// not named one in 16, those with the lowest scores (of equals, the lowest rows), are freed:
//
//   LRU            last
//   LFU            count
//   DISTANCE_LFU   count / (now − last + 1)
//
// now: calls of Insert so far. On the CPU. Find may run beside Find, but not beside Insert.
#include <string>
#include <vector>

#include "embedding/managed_collision/frequency_sketch.h"
#include "embedding/managed_collision/index_segment.h"
#include "embedding/managed_collision/mch_managed_collision_module.h"
#include "runtime/named_parameter.h"

namespace tessera {

struct GrowingIndexOptions {
  int64_t max_rows = 0;                   // below 2^32
  MchEviction score = MchEviction::kLru;  // what is evicted at the cap
  // An id gets a row when it is named for the admit_after-th time, or a little earlier: counts are
  // kept in a sketch of about sketch_bytes (0: max_rows), and fade. 1 to 255.
  int64_t admit_after = 1;
  int64_t sketch_bytes = 0;
  std::string name = {};  // for errors
};

class GrowingIndex {
 public:
  explicit GrowingIndex(GrowingIndexOptions options);
  GrowingIndex(GrowingIndex&&) = default;
  GrowingIndex& operator=(GrowingIndex&&) = default;

  // The row of each id, or −1: i64 [N]. ids: [N], i32 or i64. Throws Error on a GPU.
  Tensor Find(Context& ctx, const Tensor& ids) const;

  struct Inserted {
    Tensor rows;                 // i64 [N]; −1: not admitted, or all rows were named by this call
    std::vector<int64_t> added;  // rows that nobody had before, ascending
    std::vector<int64_t> reused;  // rows that went from one id to another, in that order
  };
  // The same; ids that are not there get rows as admit_after says. Every occurrence counts.
  Inserted Insert(Context& ctx, const Tensor& ids);

  int64_t max_rows() const { return options_.max_rows; }
  // Rows that ids have.
  int64_t size() const { return num_rows_ - static_cast<int64_t>(free_.size()); }
  // Rows that ids have or had: all of Find's are below it.
  int64_t num_rows() const { return num_rows_; }
  // What this takes in memory, without the rows themselves.
  int64_t bytes() const;
  // As many rows as fit in `bytes` with what the index takes for them, at its worst load, where a row
  // and its optimizer state take row_bytes.
  static int64_t RowsWithin(int64_t bytes, int64_t row_bytes);

  //   _growing_ids, _growing_last_access_iter, _growing_counts   i64 [num_rows]; count 0: free
  //   _growing_free_rows                                         i64 [k], the next one last
  //   _current_iter_tensor, _growing_hand                        i64 [1]
  //   _growing_sketch u8 [bytes], _growing_sketch_adds i64 [1]   with admit_after above 1
  std::vector<NamedTensor> StateDict(Context& ctx) const;
  // Throws Error, and changes nothing, for what is no such state, or more rows than max_rows.
  void LoadStateDict(Context& ctx, const std::vector<NamedTensor>& tensors);

 private:
  struct Record {
    int64_t id = 0;
    uint32_t last = 0, count = 0;
  };
  static constexpr int kChunkBits = 17;  // of row numbers inside a chunk: 2 MiB, a huge page
  static constexpr int64_t kChunkRows = int64_t{1} << kChunkBits;

  Record& RecordOf(int64_t row) const {
    return chunks_[static_cast<size_t>(row >> kChunkBits)][row & (kChunkRows - 1)];
  }
  internal::IndexSegment* SegmentOf(uint64_t hash) const {
    return directory_[hash >> 1 >> (63 - depth_)];
  }
  int64_t FindOne(uint64_t hash, int64_t id) const;
  void PrefetchAhead(const uint64_t* hashes, int64_t n, int64_t i) const;
  int64_t InsertOne(uint64_t hash, int64_t id, Inserted* inserted);
  // Puts a row under the hash of its id.
  void Enter(uint64_t hash, int64_t row);
  void Split(internal::IndexSegment* segment, uint64_t hash);
  internal::IndexSegment* NewSegment(int depth);
  void* Allocate(int64_t bytes);
  void MakeRoomForRow();
  void EvictSome();
  void Free(int64_t row);
  double Score(const Record& record) const;
  // A row of a state.
  void AppendRow(const Record& record);

  GrowingIndexOptions options_;
  std::vector<internal::IndexSegment*> directory_;  // 2^depth_
  int depth_ = 0;
  uint64_t segments_made_ = 0;
  std::vector<internal::IndexSegment*> unused_;  // memory for segments
  std::vector<Record*> chunks_;
  std::vector<Tensor> memory_;  // of segments and chunks
  int64_t memory_bytes_ = 0;
  int64_t num_rows_ = 0;
  std::vector<int64_t> free_;
  int64_t now_ = 0, hand_ = 0;
  int64_t exhausted_at_ = -1;  // the call that found no row to evict
  internal::FrequencySketch sketch_;
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_MANAGED_COLLISION_GROWING_INDEX_H_
