#include "data/batch_builder.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

#include "data/table_row.h"
#include "runtime/numbers/math.h"

namespace tessera {
namespace {

constexpr std::string_view kPrefix = "cat_";
constexpr int64_t kSmallIntegers = 4096;

float LogOnePlus(int64_t x) { return static_cast<float>(Log1p(static_cast<double>(x))); }

}  // namespace

std::string ToString(MissingIds missing) {
  return missing == MissingIds::kRow0 ? "row0" : "empty_bag";
}

MissingIds ParseMissingIds(const std::string& name) {
  for (const MissingIds missing : {MissingIds::kRow0, MissingIds::kEmptyBag})
    if (name == ToString(missing)) return missing;
  throw Error(Format("missing '{}': expected row0 or empty_bag", name));
}

std::string CategoryName(int column) { return Format("{}{}", kPrefix, column); }

int CategoryColumn(const std::string& feature) {
  for (int column = 0; column < ClickRow::kCategories; ++column)
    if (feature == CategoryName(column)) return column;
  throw Error(
      Format("feature '{}': the data has cat_0 to cat_{}", feature, ClickRow::kCategories - 1));
}

int64_t CheckedHashSize(const CategoricalFeature& feature) {
  if (feature.raw) return 0;
  TESSERA_CHECK_GT(feature.rows, 0, "feature '{}': rows of its table", feature.name);
  return feature.rows;
}

BatchBuilder::BatchBuilder(const std::vector<CategoricalFeature>& features, MissingIds missing)
    : missing_(missing) {
  for (const CategoricalFeature& feature : features) {
    const int column = CategoryColumn(feature.name);
    TESSERA_CHECK(std::find(keys_.begin(), keys_.end(), feature.name) == keys_.end(),
                  "feature '{}' is given twice", feature.name);
    const int64_t rows = CheckedHashSize(feature);
    keys_.push_back(feature.name);
    columns_.push_back({column, static_cast<uint64_t>(rows)});
    if (rows == 0 || rows > std::numeric_limits<int32_t>::max()) id_type_ = DType::kI64;
  }
  for (int64_t x = 0; x < kSmallIntegers; ++x) small_logs_.push_back(LogOnePlus(x));
}

Tensor BatchBuilder::Dense(Context& ctx, std::span<const ClickRow> rows) const {
  const Tensor dense = Tensor::Empty(ctx, {static_cast<int64_t>(rows.size()), ClickRow::kIntegers});
  float* out = dense.data<float>();
  for (const ClickRow& row : rows) {
    for (const int64_t integer : row.integers) {
      const int64_t x = std::max<int64_t>(integer, 0);
      *out++ = x < kSmallIntegers ? small_logs_[static_cast<size_t>(x)] : LogOnePlus(x);
    }
  }
  return dense;
}

template <typename Id>
KeyedJaggedTensor BatchBuilder::FeaturesAs(Context& ctx, std::span<const ClickRow> rows) const {
  const int64_t bags = static_cast<int64_t>(keys_.size() * rows.size());
  const Tensor lengths = Tensor::Empty(ctx, {bags}, DType::kI32);
  const Tensor values = Tensor::Empty(ctx, {bags}, DTypeOf<Id>::value);
  int32_t* length = lengths.data<int32_t>();
  Id* const begin = values.data<Id>();
  Id* end = begin;
  const uint64_t shift = missing_ == MissingIds::kRow0 ? 1 : 0;
  for (const Column& feature : columns_) {
    for (const ClickRow& row : rows) {
      const bool present = row.has_category(feature.column);
      if (present)
        *end++ = static_cast<Id>(TableRow(row.categories[feature.column], shift, feature.rows));
      else if (missing_ == MissingIds::kRow0)
        *end++ = 0;
      *length++ = present || missing_ == MissingIds::kRow0 ? 1 : 0;
    }
  }
  return KeyedJaggedTensor::FromLengthsSync(keys_, values.Rows(0, end - begin), lengths);
}

KeyedJaggedTensor BatchBuilder::Features(Context& ctx, std::span<const ClickRow> rows) const {
  return id_type_ == DType::kI32 ? FeaturesAs<int32_t>(ctx, rows) : FeaturesAs<int64_t>(ctx, rows);
}

Batch BatchBuilder::Build(Context& ctx, std::span<const ClickRow> rows) const {
  const Tensor labels = Tensor::Empty(ctx, {static_cast<int64_t>(rows.size())});
  for (size_t i = 0; i < rows.size(); ++i) labels.data<float>()[i] = rows[i].label;
  Batch batch;
  batch.dense = Dense(ctx, rows);
  batch.features = Features(ctx, rows);
  batch.labels = labels;
  return batch;
}

}  // namespace tessera
