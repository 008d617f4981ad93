#include "data/rows/request_schema.h"

#include "data/click_row.h"
#include "runtime/base/check.h"

namespace tessera {
namespace {

std::string IntegerName(int i) { return Format("int_{}", i); }

}  // namespace

OneValueCells CriteoCells() {
  OneValueCells cells;
  for (int i = 0; i < ClickRow::kIntegers; ++i) cells.integers.push_back(IntegerName(i));
  return cells;
}

DataSchema CriteoSchema(MissingIds missing, const std::vector<std::string>& features) {
  DataSchema schema{.format = RowFormat::kTsv, .columns = {"label"}, .delimiter = '\t'};
  for (int i = 0; i < ClickRow::kIntegers; ++i) {
    const std::string name = IntegerName(i);
    schema.columns.push_back(name);
    schema.dense.push_back(
        {.name = name, .from = name, .transform = {DenseTransform::Kind::kLog1p}});
  }
  for (int i = 0; i < ClickRow::kCategories; ++i) schema.columns.push_back(CategoryName(i));
  for (const std::string& feature : features)
    schema.features.push_back({.name = feature,
                               .from = feature,
                               .missing = missing == MissingIds::kRow0 ? MissingFeature::kRow0
                                                                       : MissingFeature::kEmptyBag,
                               .ids = IdKind::kHex});
  schema.labels = {{.name = "label", .from = "label"}};
  return schema;
}

DataSchema RatingsSchema(const std::vector<std::string>& features) {
  DataSchema schema;
  for (const std::string& feature : features)
    schema.features.push_back(
        {.name = feature, .from = feature, .missing = MissingFeature::kError});
  return schema;
}

DataSchema RequestSchema(DataSchema schema, int64_t dense_in) {
  if (schema.format == RowFormat::kNpz && dense_in > 0)
    schema.dense = {{.name = "dense", .from = "dense", .missing = {}, .size = dense_in}};
  if (dense_in == 0) schema.dense.clear();  // the model leaves them
  schema.format = RowFormat::kJsonl;
  schema.columns.clear();
  schema.delimiter = ',';
  schema.labels.clear();
  schema.weight.clear();
  schema.time.clear();
  return schema;
}

}  // namespace tessera
