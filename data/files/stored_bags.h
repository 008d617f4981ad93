#ifndef TESSERA_DATA_FILES_STORED_BAGS_H_
#define TESSERA_DATA_FILES_STORED_BAGS_H_
// Rows with bags in mapped files, in parts that follow each other: what days of multi-hot rows
// (multi_hot_rows.h) and folders of a schema's rows (bag_folder.h) are read as.
//
// An id becomes id mod rows of its table, not negative; raw ids stay as they are.
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/files/stored_rows.h"
#include "data/row_table.h"
#include "runtime/tensor.h"

namespace tessera {

struct BagFeature {
  std::string name;
  int64_t rows = 0;             // of the table; 0: raw
  int64_t shift = 0;            // added to ids: 1 where row 0 stands for missing ones
  bool counts_unknown = false;  // ids are meant as rows: those that are none are counted
};

// Some numbers of each row, as f32.
struct NumberColumns {
  StoredColumns stored;                                  // [n] or [n, columns], of any type
  std::vector<std::pair<int64_t, int64_t>> picked = {};  // columns [begin, end), in this order
  // For errors: the file whose numbers may not be finite as f32; "": all are finite.
  std::string unchecked_file = {};

  // All columns of a tensor.
  static NumberColumns AllOf(StoredColumns stored);
  int64_t width() const;
  // Writes [count, width] numbers of the rows from `first` on. Throws Error, naming the file and
  // the row, for one that is not finite.
  void Copy(int64_t first, int64_t count, float* out) const;

 private:
  void CopyAll(int64_t first, int64_t count, float* out) const;
  void CheckFinite(int64_t first, std::span<const float> numbers) const;
};

// Bags of one feature.
struct BagColumn {
  StoredColumns ids = {};      // [n] or [n, hot], or, with offsets, [N]; i32 or i64
  StoredColumns offsets = {};  // [n + 1], i32: of row r's ids; without a tensor each has as many
  StoredColumns weights = {};  // [N], f32; without a tensor all ids weigh 1
};

// Rows of one file, or of several beside each other.
struct BagPart {
  std::string name = {};  // for errors
  int64_t rows = 0;
  NumberColumns dense = {}, labels = {};
  StoredColumns weight = {}, time = {};  // [n], f32 and i64; without tensors the data have none
  std::vector<BagColumn> bags = {};      // of each feature
};

class StoredBags final : public RowTable {
 public:
  // REQUIRES: some part; all of as many dense numbers and labels, with weight and time or without.
  StoredBags(std::vector<BagFeature> features, std::vector<BagPart> parts);

  int64_t rows() const override { return first_.back(); }
  const std::vector<BagPart>& parts() const { return parts_; }
  int64_t dense_columns() const { return parts_.front().dense.width(); }
  // Labels of a row.
  int64_t label_columns() const { return parts_.front().labels.width(); }
  // Ids are i32 where all tables allow it, else i64 (raw ids too). Features are weighted where one
  // of them has weights in some part. Items are counted where a feature asks for it.
  Batch Gather(Context& ctx, std::span<const int64_t> rows) const override;

 private:
  // Rows of one part that follow each other.
  struct Run {
    const BagPart* part;
    int64_t begin, count;
  };
  // Ids of one feature and run that follow each other.
  struct IdRun {
    const BagColumn* column;
    const BagFeature* feature;
    int64_t begin, count;
  };
  std::vector<Run> RunsOf(std::span<const int64_t> rows) const;
  IdRun FillLengths(const Run& run, size_t feature, int32_t* lengths) const;
  template <typename Id>
  Tensor IdsOf(Context& ctx, std::span<const IdRun> runs, int64_t count,
               std::vector<ItemCount>& items) const;
  KeyedJaggedTensor FeaturesOf(Context& ctx, std::span<const Run> runs, int64_t rows,
                               std::vector<ItemCount>& items) const;
  Batch NumbersOf(Context& ctx, std::span<const Run> runs, int64_t rows) const;

  std::vector<BagFeature> features_;
  std::vector<std::string> keys_;
  std::vector<BagPart> parts_;
  std::vector<int64_t> first_ = {0};  // row of each part, then of all
  DType id_type_ = DType::kI32;
  bool weighted_ = false, counts_unknown_ = false;
};

}  // namespace tessera
#endif  // TESSERA_DATA_FILES_STORED_BAGS_H_
