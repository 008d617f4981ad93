#include "bench/embedding/module_calls.h"

#include <utility>

#include "bench/embedding/lookup_check.h"

namespace tessera::bench {
namespace {

std::string TableName(size_t t) { return "t" + std::to_string(t); }
std::string Key(size_t t) { return "f" + std::to_string(t); }

BaseEmbeddingConfig TableConfig(const Shape& shape, size_t t) {
  BaseEmbeddingConfig config;
  config.name = TableName(t);
  config.num_embeddings = shape.rows[t];
  config.embedding_dim = shape.DimOf(t);
  config.feature_names = {Key(t)};
  config.init_range = std::pair(-0.01f, 0.01f);
  config.data_type = shape.row_type;
  return config;
}

std::unique_ptr<EmbeddingBagCollection> MakeCollection(Context& ctx, const Shape& shape) {
  std::vector<EmbeddingBagConfig> configs;
  for (size_t t = 0; t < shape.rows.size(); ++t)
    configs.push_back({TableConfig(shape, t), shape.pooling});
  return std::make_unique<EmbeddingBagCollection>(
      ctx, configs,
      EmbeddingBagCollectionOptions{.is_weighted = shape.weighted,
                                    .output_type = shape.output_type});
}

std::unique_ptr<TableBatchedEmbedding> MakeTables(Context& ctx, const Shape& shape) {
  std::vector<BaseEmbeddingConfig> configs;
  std::vector<EmbeddingFeature> features;
  for (size_t t = 0; t < shape.rows.size(); ++t) {
    configs.push_back(TableConfig(shape, t));
    features.push_back({Key(t), static_cast<int>(t), Key(t)});
  }
  return std::make_unique<TableBatchedEmbedding>(
      ctx, configs, std::vector<PoolingType>(configs.size(), shape.pooling), features);
}

std::vector<KeyedJaggedTensor> MakeBatches(Context& ctx, const Shape& shape) {
  std::vector<std::string> keys;
  for (size_t t = 0; t < shape.rows.size(); ++t) keys.push_back(Key(t));
  IdBatches drawn = DrawIdBatches(ctx, shape);
  std::vector<KeyedJaggedTensor> batches;
  for (int k = 0; k < Workload::kBatches; ++k) {
    const IdBatch batch = drawn.Next();
    Variable weights;
    if (shape.weighted) weights = Variable(Tensor::Full(ctx, {std::ssize(batch.ids)}, 0.5));
    batches.push_back(KeyedJaggedTensor::FromOffsetsSync(
        keys, Tensor::From(ctx, batch.ids), Tensor::From(ctx, batch.offsets), weights));
  }
  return batches;
}

}  // namespace

ModuleCalls::ModuleCalls(Context& ctx, const Shape& shape)
    : shape_(shape), batches_(MakeBatches(ctx, shape)) {
  if (shape.pooling == PoolingType::kNone)
    tables_ = MakeTables(ctx, shape);
  else
    collection_ = MakeCollection(ctx, shape);
}

void ModuleCalls::CallTables(Context& ctx, int round) {
  if (has_collection())
    Tables().Forward(ctx, Batch(round));
  else
    Tables().ForwardSequence(ctx, Batch(round));
}

void ModuleCalls::CallCollection(Context& ctx, int round) {
  collection_->Forward(ctx, Batch(round));
}

void ModuleCalls::Check(Context& ctx) {
  const KeyedJaggedTensor& kjt = Batch(0);
  if (has_collection()) {
    CheckOutputs(ctx, {Tables().Forward(ctx, kjt).value()});
    CheckOutputs(ctx, {collection_->Forward(ctx, kjt).values().value()});
    return;
  }
  std::vector<Tensor> outputs;
  for (const Variable& rows : Tables().ForwardSequence(ctx, kjt)) outputs.push_back(rows.value());
  CheckOutputs(ctx, outputs);
}

void ModuleCalls::CheckOutputs(Context& ctx, const std::vector<Tensor>& outputs) {
  const KeyedJaggedTensor& kjt = Batch(0);
  const bool pooled = has_collection();
  const auto num_tables = static_cast<int64_t>(shape_.rows.size());
  std::vector<LookupFeature> features;
  int64_t column = 0;  // of the table's output
  for (int64_t t = 0; t < num_tables; ++t) {
    const Tensor& out = outputs[static_cast<size_t>(pooled ? 0 : t)];
    features.push_back({.rows = Tables().weight(static_cast<int>(t)).raw_data(),
                        .row_type = shape_.row_type,
                        .num_rows = shape_.rows[static_cast<size_t>(t)],
                        .dim = shape_.DimOf(static_cast<size_t>(t)),
                        .ids = {kjt.values().data<int64_t>(), true},
                        .first_bag = t * shape_.batch,
                        .num_bags = shape_.batch,
                        .pooling = shape_.pooling,
                        .output = static_cast<char*>(out.raw_data()) + column * SizeOf(out.dtype()),
                        .output_type = out.dtype(),
                        .output_stride = out.dim(1)});
    if (pooled) column += features.back().dim;
  }
  CheckLookup({features,
               {kjt.offsets(ctx).data<int64_t>(), true},
               kjt.is_weighted() ? kjt.weights().value().data<float>() : nullptr,
               num_ids()});
}

}  // namespace tessera::bench
