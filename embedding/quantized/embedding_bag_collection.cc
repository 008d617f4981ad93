#include "embedding/quantized/embedding_bag_collection.h"

#include <algorithm>

#include "embedding/collection_features.h"
#include "runtime/base/check.h"

namespace tessera::quant {
namespace {

// Tables grouped by pooling, in order of first appearance.
std::vector<QuantizedTable> GroupedByPooling(std::vector<QuantizedTable> tables) {
  std::vector<PoolingType> order;
  for (const QuantizedTable& table : tables) {
    TESSERA_CHECK(table.pooling != PoolingType::kNone,
                  "table {}: pooling NONE needs an EmbeddingCollection", table.name);
    if (std::find(order.begin(), order.end(), table.pooling) == order.end())
      order.push_back(table.pooling);
  }
  const auto place = [&](const QuantizedTable& table) {
    return std::find(order.begin(), order.end(), table.pooling) - order.begin();
  };
  std::stable_sort(
      tables.begin(), tables.end(),
      [&](const QuantizedTable& a, const QuantizedTable& b) { return place(a) < place(b); });
  return tables;
}

QuantizedTableBatchedEmbedding MakeTables(Context& ctx, std::vector<QuantizedTable> tables,
                                          QuantizedOptions options) {
  std::vector<EmbeddingFeature> features = internal::ListFeatures(tables);
  return QuantizedTableBatchedEmbedding(ctx, std::move(tables), std::move(features), options);
}

}  // namespace

void CheckBecomesKeyedTensor(const KeyedJaggedTensor& features) {
  TESSERA_CHECK(
      !features.variable_stride_per_key() || features.inverse_indices_or_none() != nullptr,
      "a KeyedJaggedTensor with a batch of its own for each key needs inverse indices to become a "
      "KeyedTensor; without them, tables().Forward gives the flat rows");
}

EmbeddingBagCollection::EmbeddingBagCollection(Context& ctx, std::vector<QuantizedTable> tables,
                                               QuantizedOptions options)
    : tables_(MakeTables(ctx, GroupedByPooling(std::move(tables)), options)) {
  for (const EmbeddingFeature& f : tables_.features()) {
    embedding_names_.push_back(f.name);
    dims_.push_back(tables_.tables()[static_cast<size_t>(f.table)].embedding_dim);
  }
}

KeyedTensor EmbeddingBagCollection::Forward(Context& ctx, const KeyedJaggedTensor& features) const {
  CheckBecomesKeyedTensor(features);
  return KeyedTensor(embedding_names_, dims_, Variable(tables_.Forward(ctx, features).pooled));
}

std::vector<NamedTensor> EmbeddingBagCollection::StateDict() const {
  std::vector<NamedTensor> state;
  for (const QuantizedTable& table : tables_.tables())
    state.push_back({"embedding_bags." + table.name + ".weight", table.rows});
  return state;
}

}  // namespace tessera::quant
