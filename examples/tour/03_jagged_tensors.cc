// JaggedTensor, KeyedJaggedTensor and KeyedTensor
//
// The ids of an example are a list of any length: one day a user met one ad, the next day three. A
// JaggedTensor keeps such lists for one feature of a batch, joined, with the lengths of the lists
// beside them. A KeyedJaggedTensor (KJT) keeps them for all features, each under its key: it goes
// into a collection. A KeyedTensor is what comes out: dense blocks of columns under keys.
//
// In TorchRec: `JaggedTensor`, `KeyedJaggedTensor`, `KeyedTensor` of `torchrec.sparse`.
#include <iostream>

#include "tessera/sparse/ops/cumsum.h"
#include "tessera/tessera.h"

using namespace tessera;

namespace {

std::string Join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return "[" + text + "]";
}

EmbeddingBagConfig Table(const std::string& name, const std::string& feature) {
  EmbeddingBagConfig table;
  table.name = name;
  table.num_embeddings = 4096;
  table.embedding_dim = 64;
  table.feature_names = {feature};
  return table;
}

}  // namespace

int main() {
  Context ctx;

  // Two examples: id 5 is in the first, ids 7 and 1 are in the second.
  const Tensor lengths = Tensor::From<int64_t>(ctx, {1, 2});
  const Tensor values = Tensor::From<int64_t>(ctx, {5, 7, 1});

  // Sums of the lengths say where lists end.
  const Tensor ends = InclusiveCumsum(ctx, lengths);
  const int64_t first = ends.data<int64_t>()[0], second = ends.data<int64_t>()[1];
  std::cout << "Offsets: " << ToString(ends) << "\n"
            << "First Batch: " << ToString(values.Rows(0, first)) << "\n"
            << "Second Batch: " << ToString(values.Rows(first, second)) << "\n";

  // A JaggedTensor does that by itself.
  const JaggedTensor jt(values, lengths);
  std::cout << "Offsets: " << ToString(jt.offsets(ctx)) << "\n";
  std::vector<std::string> lists;
  for (const Variable& list : jt.ToDense(ctx)) lists.push_back(ToString(list.value()));
  std::cout << "List of Values: " << Join(lists) << "\n" << ToString(ctx, jt);

  // Two features, two examples each.
  const JaggedTensor product_jt(Tensor::From<int64_t>(ctx, {1, 2, 1, 5}),
                                Tensor::From<int64_t>(ctx, {3, 1}));
  const JaggedTensor user_jt(Tensor::From<int64_t>(ctx, {2, 3, 4, 1}),
                             Tensor::From<int64_t>(ctx, {2, 2}));
  const KeyedJaggedTensor kjt =
      KeyedJaggedTensor::FromJtDict(ctx, {{"product", product_jt}, {"user", user_jt}});
  std::cout << "Keys: " << Join(kjt.keys()) << "\n"
            << "Lengths: " << ToString(kjt.lengths(ctx)) << "\n"
            << "Values: " << ToString(kjt.values()) << "\n"
            << "Offsets of all lists: " << ToString(kjt.offsets(ctx)) << "\n";
  for (const auto& [key, feature] : kjt.ToDict(ctx))
    std::cout << "to_dict, " << key << ": " << ToString(ctx, feature);
  std::cout << ToString(ctx, kjt);

  // A batch of two examples through two tables of 64 columns: 2 rows of 128.
  EmbeddingBagCollection ebc(ctx, {Table("product_table", "product"), Table("user_table", "user")});
  const KeyedTensor result = ebc.Forward(ctx, kjt);
  std::cout << Join(result.keys()) << "\n" << ToString(result.values().shape()) << "\n";
  for (const auto& [key, embedding] : result.ToDict(ctx))
    std::cout << key << " " << ToString(embedding.shape()) << "\n";
}
