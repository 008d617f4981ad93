#ifndef TESSERA_DATA_SPLIT_SPLIT_COUNTS_H_
#define TESSERA_DATA_SPLIT_SPLIT_COUNTS_H_
// How many rows, and how many distinct ids of the feature that it goes by, a split gives each part.
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "data/data_source.h"
#include "data/split/row_split.h"

namespace tessera {

struct PartCount {
  int64_t rows = 0;
  std::optional<int64_t> ids = {};  // absent: nobody counts them

  friend bool operator==(const PartCount&, const PartCount&) = default;
};

// Distinct ids below a number, a bit each. Any thread may add.
class IdSet {
 public:
  explicit IdSet(int64_t below) : words_(static_cast<size_t>((below + 63) / 64)) {}
  // kNoId is none. REQUIRES of others: 0 ≤ id < below.
  void Add(int64_t id);
  // Number of the ids that `counts` takes.
  int64_t Count(const std::function<bool(int64_t)>& counts) const;

 private:
  std::vector<std::atomic<uint64_t>> words_;
};

// Counts of both parts, each absent until it is known. Any thread may use it.
class SplitCounts {
 public:
  void Set(RowPart part, const PartCount& count);
  std::optional<PartCount> Of(RowPart part) const;

 private:
  mutable std::mutex mutex_;
  std::optional<PartCount> train_, eval_;  // guarded by mutex_
};

// Hands on the batches of a part of a split, counts them, and tells `counts` at their end.
// `id_rows`: rows of the table of the feature that the split goes by; 0: ids are not counted.
std::unique_ptr<DataSource> CountedRows(std::unique_ptr<DataSource> source,
                                        const SplitOptions& split, RowPart part, int64_t id_rows,
                                        std::shared_ptr<SplitCounts> counts);

}  // namespace tessera
#endif  // TESSERA_DATA_SPLIT_SPLIT_COUNTS_H_
