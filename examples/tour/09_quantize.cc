// Smaller tables for prediction
//
// Predicting needs no optimizer state and no 32 bits a number. A quantized collection stores each
// row as codes of 8, 4 or 2 bits (or as floats of 16 or 8), with a scale and a bias for the row,
// and answers as the float collection does. It can be sharded, too: over the GPUs of a machine, or
// over threads.
//
// In TorchRec: `quantize_dynamic(module, qconfig_spec, mapping)`, `QuantEmbeddingBagCollection`,
// `_shard_modules(module, env=ShardingEnv.from_local(...))`, `ShardedQuantEmbeddingBagCollection`.
#include <algorithm>
#include <cmath>
#include <iostream>

#include "tessera/tessera.h"

using namespace tessera;

namespace {

EmbeddingBagConfig Table(const std::string& name, const std::string& feature) {
  EmbeddingBagConfig table;
  table.name = name;
  table.num_embeddings = 4096;
  table.embedding_dim = 64;
  table.feature_names = {feature};
  return table;
}

float LargestDifference(const Tensor& a, const Tensor& b) {
  float largest = 0;
  for (int64_t i = 0; i < a.numel(); ++i)
    largest = std::max(largest, std::abs(a.data<float>()[i] - b.data<float>()[i]));
  return largest;
}

}  // namespace

int main() {
  Context ctx({.seed = 1});
  EmbeddingBagCollection ebc(ctx, {Table("product_table", "product"), Table("user_table", "user")});
  for (int t = 0; t < ebc.tables().num_tables(); ++t) {
    const Tensor weight = ebc.tables().weight(t);
    std::cout << "embedding_bags." << ebc.tables().table_name(t) << ".weight "
              << ToString(weight.shape()) << " " << ToString(weight.dtype()) << "\n";
  }

  // 64 codes of a byte, a scale and a bias of two bytes each, and zeros up to a multiple of 16.
  const RowCodec int8 = {RowType::kInt8};
  const quant::EmbeddingBagCollection qebc = quant::Quantize(ctx, ebc, {.all = {.codec = int8}});
  for (const NamedTensor& buffer : qebc.StateDict())
    std::cout << buffer.name << " " << ToString(buffer.tensor.shape()) << " "
              << ToString(buffer.tensor.dtype()) << "\n";

  const KeyedJaggedTensor kjt = KeyedJaggedTensor::FromLengthsSync(
      {"product", "user"}, Tensor::From<int64_t>(ctx, {1, 2, 1, 5, 2, 3, 4, 1}),
      Tensor::From<int64_t>(ctx, {3, 1, 2, 2}));
  const Tensor exact = ebc.Forward(ctx, kjt).values().value();
  const Tensor stored = qebc.Forward(ctx, kjt).values().value();

  // Rows lie in [-1/64, 1/64]: a step between codes is at most 1/32 / 255, and rounding is off by
  // half of it. Bags have three ids at most. (The half-precision scale adds a little.)
  const float bound = 3 * 1.05f * (1.0f / 32 / 255) / 2;
  const float difference = LargestDifference(exact, stored);
  std::cout << ToString(stored.shape()) << ", off by " << (difference < bound ? "less" : "more")
            << " than " << bound << "\n";

  // Over two ranks of this process, each with a thread of its own: the same answer. (A rank may be
  // a GPU, too: options say which device each is.)
  const std::vector<TableShape> shapes = {{"product_table", 4096, 64}, {"user_table", 4096, 64}};
  const ShardingPlan plan =
      MakeShardingPlan({.world_size = 2, .local_size = 2}, shapes,
                       {{"product_table", TableWise(1)}, {"user_table", ColumnWise({0, 1})}});
  const quant::ShardedQuantEmbeddingBagCollection sharded(ctx, qebc, plan);
  const bool same = SameBits(sharded.Forward(ctx, kjt).values(), stored);
  for (int rank = 0; rank < 2; ++rank)
    std::cout << "rank " << rank << " holds " << sharded.tables().nbytes(rank) << " bytes\n";
  std::cout << (same ? "as without shards\n" : "not as without shards\n");

  // Other codecs, by bytes a row.
  for (const RowType type :
       {RowType::kF32, RowType::kF16, RowType::kInt8, RowType::kInt4, RowType::kInt2})
    std::cout << ToString(RowCodec{type}) << ": " << RowBytes({type}, 64) << "\n";
  return same && difference < bound ? 0 : 1;
}
