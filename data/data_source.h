#ifndef TESSERA_DATA_DATA_SOURCE_H_
#define TESSERA_DATA_DATA_SOURCE_H_
// A source of batches: a file reader, a generator, or either one read ahead on its own thread.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/tensor.h"
#include "sparse/keyed_jagged_tensor.h"

namespace tessera {

// Number of a feature's items, and of those without an id of their own: integers that are no row of
// the table, words outside the vocabulary.
struct ItemCount {
  int64_t items = 0, unknown = 0;
};

// B examples that follow each other. Rows are numbered from 0 over the whole data set, in the order
// in which an epoch gives them out, so that a batch says where it came from.
struct Batch {
  Tensor dense;                // [B, dense_in], f32; dense_in may be 0
  KeyedJaggedTensor features;  // a key for each categorical feature
  // [B] for one label, or [B, T] for several, f32. NaN: the example has no such label. Undefined:
  // the data have no labels.
  Tensor labels;
  Tensor weights = {};  // [B], f32: of each example in loss and metrics; undefined: all 1
  Tensor time = {};     // [B], i64; undefined: the data have no times
  int64_t first_row = 0;
  int64_t end_row = 0;      // where the next batch begins
  int64_t rows_of_all = 0;  // where this is one rank's part, maybe of no rows: those of all ranks
  // Approximate share of the data that has been read, this batch included; absent if unknown.
  std::optional<double> fraction = 0;
  // The items of each key, where who made the batch counted them; else empty.
  std::vector<ItemCount> items = {};

  int64_t size() const { return labels ? labels.dim(0) : dense.dim(0); }
  // Number of examples in the batch of all ranks.
  int64_t whole_size() const { return rows_of_all > 0 ? rows_of_all : size(); }
  // Returns the batch on ctx's device, copied by two pinned transfers without waiting; itself if it
  // is there.
  Batch To(Context& ctx) const;
};

// How many lines were left out, by what was wrong with them ("expected a number").
using BadLineCounts = std::map<std::string, int64_t>;

// A finite sequence of batches. Not thread safe.
class DataSource {
 public:
  virtual ~DataSource() = default;
  // The next batch, never empty; nullopt after the last one. Throws Error for data that cannot be
  // read.
  virtual std::optional<Batch> Next() = 0;
  // Number of bad rows left out before the next batch's first row; after the last batch, of all. A
  // source that starts at that row counts the rest.
  virtual int64_t skipped_rows() const { return 0; }
  // Skipped rows by reason, where the source tells.
  virtual BadLineCounts skipped_by_reason() const { return {}; }
};

}  // namespace tessera
#endif  // TESSERA_DATA_DATA_SOURCE_H_
