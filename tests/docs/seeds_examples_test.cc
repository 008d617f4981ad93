// The examples of TorchRec's pages beside the tutorial print or return here what those pages say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "comm/local_communicator.h"
#include "embedding/embedding_bag_collection.h"
#include "embedding/quantized/quantize_tables.h"
#include "runtime/tensor_text.h"
#include "sharding/exchange/embeddings_all_to_all.h"
#include "sharding/exchange/kjt_all_to_all.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using Numbers = std::vector<int64_t>;

JaggedTensor Jagged(Context& ctx, const Numbers& values, const Numbers& lengths) {
  return JaggedTensor(Tensor::From(ctx, values), Tensor::From(ctx, lengths));
}

template <typename Config>
Config Table(const std::string& name, int64_t rows, int64_t dim, const std::string& feature) {
  Config table;
  table.name = name;
  table.num_embeddings = rows;
  table.embedding_dim = dim;
  table.feature_names = {feature};
  return table;
}

// The text of each rank, by rank.
std::vector<std::string> OnRanks(int ranks,
                                 const std::function<std::string(Context&, Communicator&)>& fn) {
  std::vector<std::string> texts(static_cast<size_t>(ranks));
  RunLocalRanks(ranks, [&](Communicator& comm) {
    Context ctx({.threads = 1});
    texts[static_cast<size_t>(comm.rank())] = fn(ctx, comm);
  });
  return texts;
}

// The notebook of the tutorial.
TEST(SeedsExamplesTest, NotebookPrintsItsBatch) {
  Context ctx({.threads = 1});
  const KeyedJaggedTensor kjt =
      KeyedJaggedTensor::FromJtDict(ctx, {{"product", Jagged(ctx, {1, 2, 3, 1, 5, 7, 9}, {3, 4})},
                                          {"user", Jagged(ctx, {2, 3, 4, 1}, {2, 2})}});
  EXPECT_THAT(kjt.keys(), ElementsAre("product", "user"));
  EXPECT_EQ(ToString(kjt.lengths(ctx)), "[3, 4, 2, 2]");
  EXPECT_EQ(ToString(kjt.values()), "[1, 2, 3, 1, 5, 7, 9, 2, 3, 4, 1]");
  EXPECT_EQ(ToString(ctx, kjt),
            "KeyedJaggedTensor({\n"
            "    \"product\": [[1, 2, 3], [1, 5, 7, 9]],\n"
            "    \"user\": [[2, 3], [4, 1]]\n"
            "})\n");
  EmbeddingBagCollection ebc(ctx, {Table<EmbeddingBagConfig>("product_table", 4096, 64, "product"),
                                   Table<EmbeddingBagConfig>("user_table", 4096, 64, "user")});
  const KeyedTensor result = ebc.Forward(ctx, kjt);
  EXPECT_THAT(result.keys(), ElementsAre("product", "user"));
  EXPECT_EQ(result.values().shape(), Shape({2, 128}));
  for (const auto& [key, embedding] : result.ToDict(ctx))
    EXPECT_EQ(embedding.shape(), Shape({2, 64}));
}

// The notes: three users met 2, 3 and 1 items.
TEST(SeedsExamplesTest, NotesOnJaggedTensors) {
  Context ctx({.threads = 1});
  EXPECT_EQ(ToString(ctx, Jagged(ctx, {101, 102, 201, 202, 203, 301}, {2, 3, 1})),
            "JaggedTensor({\n    [[101, 102], [201, 202, 203], [301]]\n})\n");
  const KeyedJaggedTensor kjt = KeyedJaggedTensor::FromJtDict(
      ctx, {{"user", Jagged(ctx, {1, 2, 3}, {2, 1})}, {"item", Jagged(ctx, {10, 11}, {1, 1})}});
  EXPECT_EQ(kjt.stride(), 2);
  EXPECT_EQ(ToString(kjt.offsets(ctx)), "[0, 2, 3, 4, 5]");
}

// torchrec.distributed.dist_data.KJTAllToAll: value n of feature A is n, of B 10 + n, of C 20 + n.
TEST(SeedsExamplesTest, KjtAllToAll) {
  const auto texts = OnRanks(2, [](Context& ctx, Communicator& comm) {
    const KeyedJaggedTensor input = KeyedJaggedTensor::FromLengthsSync(
        {"A", "B", "C"},
        Tensor::From(ctx, comm.rank() == 0 ? Numbers{0, 1, 2, 10, 11, 20, 21}
                                           : Numbers{3, 4, 12, 13, 14, 22, 23}),
        Tensor::From(ctx, comm.rank() == 0 ? Numbers{1, 0, 2, 0, 1, 1, 1, 1, 0}
                                           : Numbers{1, 1, 0, 0, 1, 2, 1, 1, 0}));
    return ToString(ctx, KJTAllToAll(comm, {2, 1}).Start(ctx, input).Wait());
  });
  EXPECT_EQ(texts[0],
            "KeyedJaggedTensor({\n"
            "    \"A\": [[0], [], [1, 2], [3], [4], []],\n"
            "    \"B\": [[], [10], [11], [], [12], [13, 14]]\n"
            "})\n");
  EXPECT_EQ(texts[1],
            "KeyedJaggedTensor({\n"
            "    \"C\": [[20], [21], [], [22], [23], []]\n"
            "})\n");
}

// torchrec.distributed.dist_data.PooledEmbeddingsAllToAll and PooledEmbeddingsAllGather.
TEST(SeedsExamplesTest, PooledEmbeddings) {
  EXPECT_THAT(
      OnRanks(2,
              [](Context& ctx, Communicator& comm) {
                const Tensor t = Tensor::Zeros(ctx, {6, comm.rank() == 0 ? 2 : 1});
                return ToString(
                    PooledEmbeddingsAllToAll(comm, {2, 1}).Start(ctx, t, {3, 3}).Wait().shape());
              }),
      ElementsAre("[3, 3]", "[3, 3]"));
  EXPECT_THAT(OnRanks(2,
                      [](Context& ctx, Communicator& comm) {
                        return ToString(PooledEmbeddingsAllGather(comm)
                                            .Start(ctx, Tensor::Zeros(ctx, {2, 2}), {2, 2})
                                            .Wait()
                                            .shape());
                      }),
              ElementsAre("[4, 2]", "[4, 2]"));
}

// torchrec.distributed.dist_data.VariableBatchPooledEmbeddingsAllToAll.
TEST(SeedsExamplesTest, VariableBatchPooledEmbeddingsAllToAll) {
  const auto shapes = OnRanks(2, [](Context& ctx, Communicator& comm) {
    const bool first = comm.rank() == 0;
    const std::vector<Numbers> batches =
        first ? std::vector<Numbers>{{2}, {1}} : std::vector<Numbers>{{1, 3}, {2, 2}};
    return ToString(VariableBatchPooledEmbeddingsAllToAll(comm, {{2}, {3, 3}})
                        .Start(ctx, Tensor::Zeros(ctx, {first ? 6 : 24}), batches,
                               first ? Numbers{2, 1, 3} : Numbers{1, 2, 2})
                        .Wait()
                        .shape());
  });
  EXPECT_THAT(shapes, ElementsAre("[16]", "[14]"));
}

// torchrec.quant.embedding_modules: f1 has [0, 1], none, [2]; f2 has [3], [4], [5, 6, 7].
TEST(SeedsExamplesTest, QuantizedCollections) {
  Context ctx({.threads = 1});
  const KeyedJaggedTensor features = KeyedJaggedTensor::FromOffsetsSync(
      {"f1", "f2"}, Tensor::From<int64_t>(ctx, {0, 1, 2, 3, 4, 5, 6, 7}),
      Tensor::From<int64_t>(ctx, {0, 2, 2, 3, 4, 5, 8}));
  const EmbeddingBagCollection ebc(ctx, {Table<EmbeddingBagConfig>("t1", 10, 3, "f1"),
                                         Table<EmbeddingBagConfig>("t2", 10, 4, "f2")});
  const KeyedTensor pooled = quant::Quantize(ctx, ebc).Forward(ctx, features);
  EXPECT_EQ(pooled.values().shape(), Shape({3, 7}));

  const EmbeddingCollection ec(
      ctx, {Table<EmbeddingConfig>("t1", 10, 3, "f1"), Table<EmbeddingConfig>("t2", 10, 3, "f2")});
  const auto rows = quant::Quantize(ctx, ec).Forward(ctx, features);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].first, "f2");
  EXPECT_EQ(rows[1].second.values().shape(), Shape({5, 3}));
}

}  // namespace
}  // namespace tessera
