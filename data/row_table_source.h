#ifndef TESSERA_DATA_ROW_TABLE_SOURCE_H_
#define TESSERA_DATA_ROW_TABLE_SOURCE_H_
// An epoch over rows of a RowTable in batches, in an order of its own, from any place on. Places of
// the order are numbered from the range's first row on, so that without shuffling a place is the
// row there; first_row and end_row of a batch are places.
//
// Of R ranks, each reads what is its own alone:
//   kPartOfBatch   batch_size is of all ranks; each takes its rows of each batch (rank_rows.h).
//   kWholeBatches  batch_size is of one rank; batches go round the ranks. What is left for the last
//                  round is shared evenly, the first ranks one more; fewer rows than ranks go to
//                  the round before. (TorchRec's InMemoryBinaryCriteoIterDataPipe.)
#include <memory>
#include <optional>
#include <vector>

#include "data/row_order.h"
#include "data/row_table.h"
#include "runtime/context.h"

namespace tessera {

enum class RankShare { kPartOfBatch, kWholeBatches };

struct RowTableSourceOptions {
  int64_t batch_size = 0;
  RowRange range = {};                         // rows of the table; without an end: to its last
  std::optional<ShuffleOptions> shuffle = {};  // absent: rows as they lie
  int64_t epoch = 0;                           // each is shuffled otherwise
  int64_t first_place = 0;       // where to begin, as an end_row says; 0: at the first
  bool drop_last = false;        // leave out a batch, or round, that is not full
  bool shuffle_batches = false;  // put the rows of each batch in random order
  int rank = 0, ranks = 1;
  RankShare share = RankShare::kPartOfBatch;
};

class RowTableSource final : public DataSource {
 public:
  // Throws Error for a range that the table does not fill, or a place after the last.
  RowTableSource(std::shared_ptr<const RowTable> table, const RowTableSourceOptions& options);

  std::optional<Batch> Next() override;

 private:
  struct Places {
    int64_t begin = 0, end = 0;  // this rank's
    int64_t next = 0;            // after those of all ranks
  };
  Places NextPart() const;
  Places NextOfRound() const;

  int64_t left() const { return options_.range.last - place_; }

  Context ctx_;  // of its own: it may run on another thread than the model
  std::shared_ptr<const RowTable> table_;
  RowTableSourceOptions options_;  // the range has an end
  RowOrder order_;
  int64_t place_;
  std::vector<int64_t> rows_;  // of one batch
};

}  // namespace tessera
#endif  // TESSERA_DATA_ROW_TABLE_SOURCE_H_
