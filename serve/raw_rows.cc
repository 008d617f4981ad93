#include "serve/raw_rows.h"

#include <algorithm>
#include <functional>
#include <set>

#include "data/files/row_preparation.h"
#include "data/rows/json_rows.h"
#include "data/rows/request_schema.h"
#include "data/schema/data_schema_json.h"
#include "runtime/base/check.h"
#include "runtime/context.h"
#include "runtime/tensor.h"

namespace tessera::serve {
namespace {

// A row of few bytes has as many cells as the model reads: a request's rows are bounded by them.
constexpr int64_t kMaxRows = 1 << 16, kMaxCells = 1 << 22;

std::optional<DataSchema> SchemaOf(const ModelSpec& spec) {
  if (!spec.data || IsPrepared(spec.data->prepared)) return {};
  if (spec.data->schema != nullptr) return *spec.data->schema;
  switch (spec.data->format) {
    case DataFormat::kCriteo:
    case DataFormat::kPlanted:
      return CriteoSchema(spec.data->missing, spec.Features());
    case DataFormat::kMovieLens:
      return RatingsSchema(spec.Features());
    default:
      return {};
  }
}

bool IsRatings(const DataConfig& data) {
  return data.schema == nullptr && data.format == DataFormat::kMovieLens;
}

// Cells of formats that have one value in each; absent for those of a schema.
std::optional<OneValueCells> OneValueCellsOf(const DataConfig& data) {
  if (data.schema != nullptr) return {};
  return IsRatings(data) ? OneValueCells() : CriteoCells();
}

// Why a model reads no rows.
std::string WhyNone(const ModelSpec& spec) {
  if (spec.data && IsPrepared(spec.data->prepared))
    return Format(
        "it was trained on {}, which rows as they are before would not have: expected "
        "tensors of values that were prepared alike",
        PreparationText(spec.data->prepared));
  return "model.json has no \"data\" that says how rows are read (tessera quantize of this release "
         "writes it, for a configuration whose data have the model's features and numbers)";
}

// A hash of all that decides which numbers are made of rows.
uint64_t ReadingOf(const DataSchema& schema, const std::vector<CategoricalFeature>& features) {
  std::string text = tessera::internal::DataSchemaToJson(schema).dump();
  text += Format(" {}", static_cast<int>(schema.format));
  for (const auto& [name, rows, raw, max_ids] : features)
    text += Format("\n{} {} {} {}", rows, raw, max_ids.value_or(-1), name);
  return std::hash<std::string>()(text) | 1;
}

}  // namespace

std::vector<CategoricalFeature> RowFeatures(const ModelSpec& spec) {
  std::vector<CategoricalFeature> features;
  std::set<std::string> read;
  for (const TableSpec& table : spec.tables)
    for (const std::string& feature : table.features)
      if (read.insert(feature).second)
        features.push_back(
            {feature, table.num_ids(), table.raw_ids.has_value(), MaxBagLength(spec.net, feature)});
  return features;
}

RawRows::RawRows(const ModelSpec& spec) {
  const auto schema = SchemaOf(spec);
  if (!schema) why_none_ = WhyNone(spec);
  if (!schema) return;
  one_value_ = OneValueCellsOf(*spec.data);
  if (IsRatings(*spec.data)) zeros_ = spec.net.dense_in;
  const DataSchema request = RequestSchema(*schema, spec.net.dense_in);
  const std::vector<CategoricalFeature> features = RowFeatures(spec);
  reading_ = ReadingOf(request, features);
  rules_ = std::make_shared<const RowRules>(request, features);
  const int64_t cells = rules_->layout().dense + std::ssize(rules_->features());
  most_rows_ = std::clamp<int64_t>(kMaxCells / std::max<int64_t>(cells, 1), 1, kMaxRows);
}

PredictRequest RawRows::Read(std::string_view lines, const std::string& where, bool strict) const {
  if (rules_ == nullptr)
    throw Error(Format("{}: the model takes tensors alone: {}", where, why_none_));
  Context ctx({.threads = 1});
  Batch batch = ReadJsonRows(ctx, rules_, lines, where, most_rows_, unknown_items_.get(), strict,
                             one_value_ ? &*one_value_ : nullptr);
  if (zeros_ > 0) batch.dense = Tensor::Zeros(ctx, {batch.dense.dim(0), zeros_});
  return {
      .dense = std::move(batch.dense), .features = std::move(batch.features), .reading = reading_};
}

std::vector<std::string> RawRows::keys() const {
  return rules_ == nullptr ? std::vector<std::string>() : rules_->columns();
}

}  // namespace tessera::serve
