#ifndef TESSERA_DATA_BATCH_BUILDER_H_
#define TESSERA_DATA_BATCH_BUILDER_H_
// Builds a model's inputs from raw rows.
//
// dense[b, i] = log(1 + max(integer i, 0)), missing 0. A categorical value v becomes the id (1 + v)
// mod rows of its table, a missing one the id 0 (MissingIds::kRow0); or v mod rows and an empty bag
// (MissingIds::kEmptyBag). Where ids stay raw, rows are 2^64.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/click_row.h"
#include "data/data_source.h"
#include "runtime/tensor.h"

namespace tessera {

enum class MissingIds { kRow0, kEmptyBag };
std::string ToString(MissingIds missing);  // "row0", "empty_bag"
MissingIds ParseMissingIds(const std::string& name);

// A feature that a model reads: which of the 26 columns it is, and the rows of the table that its
// ids must fit in.
struct CategoricalFeature {
  std::string name;
  int64_t rows = 0;
  bool raw = false;                     // any 64-bit ids: managed collision finds their rows
  std::optional<int64_t> max_ids = {};  // of a bag: as many as the model has positions
};

// Returns the number that ids of a feature are taken modulo; 0: ids stay as they are. Throws
int64_t CheckedHashSize(const CategoricalFeature& feature);

// "cat_0" … "cat_25" are columns 0 … 25.
std::string CategoryName(int column);
// The inverse. Throws Error naming the feature for any other name.
int CategoryColumn(const std::string& feature);

class BatchBuilder {
 public:
  // Throws Error for an unknown or repeated feature, or one without rows whose ids are not raw.
  BatchBuilder(const std::vector<CategoricalFeature>& features, MissingIds missing);

  // Keys in the order of the features; ids are i32 where all tables allow it, else i64 (raw ids
  // too). Where the rows came from is left to the caller.
  Batch Build(Context& ctx, std::span<const ClickRow> rows) const;

 private:
  struct Column {
    int column;
    uint64_t rows;  // 0: 2^64
  };
  Tensor Dense(Context& ctx, std::span<const ClickRow> rows) const;
  KeyedJaggedTensor Features(Context& ctx, std::span<const ClickRow> rows) const;
  template <typename Id>
  KeyedJaggedTensor FeaturesAs(Context& ctx, std::span<const ClickRow> rows) const;

  std::vector<std::string> keys_;
  std::vector<Column> columns_;
  MissingIds missing_;
  DType id_type_ = DType::kI32;
  std::vector<float> small_logs_;  // log(1 + x) of small x
};

}  // namespace tessera
#endif  // TESSERA_DATA_BATCH_BUILDER_H_
