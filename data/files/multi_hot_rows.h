#ifndef TESSERA_DATA_FILES_MULTI_HOT_ROWS_H_
#define TESSERA_DATA_FILES_MULTI_HOT_ROWS_H_
// Rows in MLPerf's files for DLRM-DCNv2, mapped: days that follow each other, each of
//
//   NAME_dense.npy              [n, D]
//   NAME_labels.npy             [n] or [n, T]
//   NAME_sparse_multi_hot.npz   an array of i32 or i64 [n] or [n, hot] a feature: array "3" is the
//                               feature cat_3, any other name is the feature's own
//
// An id becomes id mod rows of its table, not negative; raw ids stay as they are.
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/batch_builder.h"
#include "data/row_table.h"
#include "data/schema/data_schema.h"
#include "runtime/tensor.h"

namespace tessera {

// The name of a day, from the name itself or that of one of its files; nullopt where there is
// no archive of that name. Throws Error where some files of a day are there, but not all.
std::optional<std::string> FindMultiHotDay(const std::string& path);
// The files of a day.
std::vector<std::string> MultiHotFiles(const std::string& day);
// The days that paths name, each once, in their order. Throws Error for a path that names none.
std::vector<std::string> MultiHotDays(const std::vector<std::string>& paths);

class MultiHotRows final : public RowTable {
 public:
  // Throws Error, naming the file, for arrays that do not fit together, the features, or the lists
  // of the schema (where it has "dense" or "labels").
  MultiHotRows(const std::vector<std::string>& days, const DataSchema& schema,
               const std::vector<CategoricalFeature>& features);

  int64_t rows() const override { return first_.back(); }
  int64_t dense_columns() const { return days_.front().dense.dim(1); }
  // Labels of a row.
  int64_t label_columns() const { return days_.front().label_columns; }
  Batch Gather(Context& ctx, std::span<const int64_t> rows) const override;

 private:
  struct Day {
    std::string name;
    Tensor dense, labels;
    int64_t label_columns = 1;
    std::vector<Tensor> ids;  // of each feature
    int64_t rows() const { return dense.dim(0); }
  };
  struct Feature {
    std::string name;
    int64_t rows = 0;   // of the table; 0: raw
    int64_t shift = 0;  // added to ids: 1 where row 0 stands for missing ones
    std::string array;  // in the archive, as a feature's name
  };
  // Rows of one day that follow each other.
  struct Run {
    const Day* day;
    int64_t begin, count;
  };
  Day MapDay(const std::string& name) const;
  void CheckDay(const Day& day, const DataSchema& schema) const;
  std::vector<Run> RunsOf(std::span<const int64_t> rows) const;
  template <typename Id>
  KeyedJaggedTensor FeaturesOf(Context& ctx, std::span<const Run> runs, int64_t rows) const;

  std::vector<Feature> features_;
  std::vector<std::string> keys_;
  std::vector<Day> days_;
  std::vector<int64_t> first_ = {0};  // row of each day, then of all
  DType id_type_ = DType::kI32;
};

}  // namespace tessera
#endif  // TESSERA_DATA_FILES_MULTI_HOT_ROWS_H_
