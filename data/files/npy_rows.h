#ifndef TESSERA_DATA_FILES_NPY_ROWS_H_
#define TESSERA_DATA_FILES_NPY_ROWS_H_
// Criteo rows as TorchRec's BinaryCriteoUtils writes them: three npy files a day, NAME_dense.npy
// [N, 13] f32, NAME_sparse.npy [N, 26] i32 or i64, NAME_labels.npy [N, 1] or [N] i32.
#include <optional>
#include <string>
#include <vector>

#include "data/click_row_stream.h"
#include "data/files/npy.h"
#include "data/files/row_writer.h"
#include "data/files/stored_rows.h"

namespace tessera {

struct NpyDay {
  std::string dense, sparse, labels;  // paths
};

// The three files of a day, named by any one of them, or by what they begin with ("data/day_0").
// Nullopt where there are none of that name. Throws Error for some, but not all.
std::optional<NpyDay> FindNpyDay(const std::string& path);

// Days that follow each other, mapped; columns of ids are cat_0, cat_1, …. Throws Error naming the
// file that does not fit.
StoredParts MapNpyDays(const std::vector<NpyDay>& days);

// Which of its rows a stage reads of the last day, as TorchRec has it: the first half, the larger
// one where they differ, is for validation, the second for tests.
RowRange ValidationHalf(int64_t rows);
RowRange TestHalf(int64_t rows);

// Writes NAME_dense.npy, NAME_sparse.npy and NAME_labels.npy. While they replace others there are
// no labels, so that readers find an error, not rows of both.
class NpyDayWriter final : public RowWriter {
 public:
  // REQUIRES: ids of i32 or i64.
  NpyDayWriter(const std::string& name, int64_t dense_columns, int64_t id_columns, DType id_type);

  void Append(const StoredRow& row) override;
  void Prepare() override;
  void Withdraw() override { labels_.Withdraw(); }
  void Finish() override;

 private:
  NpyWriter dense_, sparse_, labels_;
  DType id_type_;
  std::vector<int32_t> narrow_;  // ids of a row
};

}  // namespace tessera
#endif  // TESSERA_DATA_FILES_NPY_ROWS_H_
