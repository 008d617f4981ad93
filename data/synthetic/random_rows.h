#ifndef TESSERA_DATA_SYNTHETIC_RANDOM_ROWS_H_
#define TESSERA_DATA_SYNTHETIC_RANDOM_ROWS_H_
// Rows without any truth, to time and to try with (TorchRec's RandomRecDataset): ids uniform below
// each feature's hash size, numbers normal, labels 0 or 1 with equal chance. Row n depends on the
// seed and n alone (Philox; not PyTorch's numbers).
#include <span>
#include <string>
#include <vector>

#include "data/batch_builder.h"
#include "data/row_table.h"
#include "runtime/context.h"

namespace tessera {

struct RandomRowsOptions {
  std::vector<CategoricalFeature> features;  // rows: hash sizes
  std::vector<int64_t> ids_per_feature;      // of each, or one for all; TorchRec's default is 2
  int64_t num_dense = 50;
  uint64_t seed = 1;
  int64_t rows = 0;
  int64_t distinct_rows = 0;  // row n is row n mod this; 0: all differ. (num_generated_batches)
};

class RandomRows final : public RowTable {
 public:
  // Throws Error for numbers below 1 (num_dense and distinct_rows: below 0), or not as many ids as
  // features.
  explicit RandomRows(RandomRowsOptions options);

  int64_t rows() const override { return options_.rows; }
  // Ids are i64, as TorchRec's.
  Batch Gather(Context& ctx, std::span<const int64_t> rows) const override;

 private:
  int64_t Distinct(int64_t row) const {
    return options_.distinct_rows > 0 ? row % options_.distinct_rows : row;
  }
  int64_t Id(size_t feature, int64_t number) const;
  KeyedJaggedTensor Features(Context& ctx, std::span<const int64_t> rows) const;

  RandomRowsOptions options_;
};

}  // namespace tessera
#endif  // TESSERA_DATA_SYNTHETIC_RANDOM_ROWS_H_
