// Tables of stored rows and the collections of them, beside the float ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <thread>

#include "embedding/quantized/quantize_tables.h"
#include "embedding/table/row_init.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using quant::FloatTablesOf;
using quant::Quantize;
using quant::QuantizeTables;
using quant::TablesQuantization;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

EmbeddingBagConfig BagTable(const std::string& name, int64_t rows, int64_t dim,
                            std::vector<std::string> features,
                            PoolingType pooling = PoolingType::kSum) {
  EmbeddingBagConfig config;
  config.name = name;
  config.num_embeddings = rows;
  config.embedding_dim = dim;
  config.feature_names = std::move(features);
  config.pooling = pooling;
  return config;
}

class QuantizedCollectionsTest : public testing::DeviceTest {
 protected:
  KeyedJaggedTensor Kjt(const std::vector<std::string>& keys, const std::vector<int32_t>& ids,
                        const std::vector<int32_t>& lengths) {
    return KeyedJaggedTensor::FromLengthsSync(keys, Tensor::From(ctx(), ids),
                                              Tensor::From(ctx(), lengths));
  }
  // Rows 1, 2, 3 (of dim 1, exact in int8 since each is constant), pooled by key "a".
  QuantizedTable CountingTable() {
    QuantizedTable table;
    table.name = "t";
    table.num_embeddings = 3;
    table.embedding_dim = 1;
    table.feature_names = {"a"};
    table.codec = {RowType::kInt8};
    table.rows = EncodeRows(ctx(), table.codec, Tensor::From<float>(ctx(), {3, 1}, {1, 2, 3}));
    return table;
  }
  // The table with 5 for ids that name no row.
  QuantizedTable WithDefault(QuantizedTable table) {
    table.rows = EncodeRows(ctx(), table.codec, Tensor::From<float>(ctx(), {4, 1}, {1, 2, 3, 5}));
    table.has_default_row = true;
    return table;
  }
  std::vector<float> Pooled(const QuantizedTable& table, const std::vector<int32_t>& ids,
                            const std::vector<int32_t>& lengths,
                            BoundsCheckMode mode = BoundsCheckMode::kFatal) {
    const quant::EmbeddingBagCollection collection(ctx(), {table}, {.bounds_check = mode});
    return collection.Forward(ctx(), Kjt({"a"}, ids, lengths)).values().value().ToVector<float>();
  }
};

TEST_P(QuantizedCollectionsTest, AnswersAsTheFloatCollectionOfTheDecodedRows) {
  EmbeddingBagCollection floats(
      ctx(), {BagTable("t1", 40, 16, {"a", "b"}), BagTable("t2", 30, 8, {"c"}, PoolingType::kMean),
              BagTable("t3", 20, 24, {"a"})});
  TablesQuantization how;
  how.all.codec = {RowType::kInt8};
  how.tables["t3"].codec = {RowType::kInt4};
  const quant::EmbeddingBagCollection quantized = Quantize(ctx(), floats, how);
  // SUM's tables come first.
  EXPECT_THAT(quantized.embedding_names(), ElementsAre("a@t1", "b", "a@t3", "c"));
  EXPECT_EQ(quantized.StateDict()[1].name, "embedding_bags.t3.weight");
  EXPECT_EQ(quantized.tables().nbytes(), 40 * 32 + 20 * 16 + 30 * 16);

  const KeyedJaggedTensor kjt =
      Kjt({"c", "a", "b"}, {3, 4, 29, 0, 1, 2, 39, 5}, {2, 1, 0, 2, 1, 2});
  for (int t = 0; t < 3; ++t) {  // the float tables become what the stored ones decode as
    const QuantizedTable& table = quantized.tables().tables()[t == 0 ? 0 : t == 1 ? 2 : 1];
    floats.tables().weight(t).CopyFrom(
        ctx(), DecodeRows(ctx(), table.codec, table.rows.ToHost().To(ctx(), ctx().device()),
                          table.embedding_dim));
  }
  const KeyedTensor expected = floats.Forward(ctx(), kjt), got = quantized.Forward(ctx(), kjt);
  for (const std::string& name : floats.embedding_names())
    EXPECT_EQ(expected.At(ctx(), name).value().Clone(ctx()).ToVector<float>(),
              got.At(ctx(), name).value().Clone(ctx()).ToVector<float>())
        << name;
}

TEST_P(QuantizedCollectionsTest, TakeWeightsWhereTheFloatCollectionDoes) {
  EmbeddingBagCollection floats(ctx(), {BagTable("t", 40, 16, {"a"})}, {.is_weighted = true});
  const auto quantized = Quantize(ctx(), floats, {.all = {.codec = {RowType::kF32}}});
  const auto kjt = KeyedJaggedTensor::FromLengthsSync(
      {"a"}, Tensor::From<int32_t>(ctx(), {3, 4, 29}), Tensor::From<int32_t>(ctx(), {2, 1}),
      Variable(Tensor::From<float>(ctx(), {0.5f, -2, 3})));
  EXPECT_TRUE(SameBits(quantized.Forward(ctx(), kjt).values().value(),
                       floats.Forward(ctx(), kjt).values().value()));
}

TEST_P(QuantizedCollectionsTest, Sequences) {
  EmbeddingConfig config;
  config.name = "t";
  config.num_embeddings = 5;
  config.embedding_dim = 4;
  config.feature_names = {"a", "b"};
  config.init_fn = ConstantRows(0.5f);
  EmbeddingCollection floats(ctx(), {config});
  const quant::EmbeddingCollection quantized = Quantize(ctx(), floats, {}, {.need_indices = true});
  const auto rows = quantized.Forward(ctx(), Kjt({"a", "b"}, {4, 0, 1}, {1, 0, 1, 1}));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].first, "b");
  EXPECT_EQ(rows[1].second.values().value().ToVector<float>(), std::vector<float>(8, 0.5f));
  EXPECT_THAT(rows[1].second.weights().value().ToVector<float>(), ElementsAre(0, 1));
  EXPECT_THAT(rows[0].second.lengths(ctx()).ToVector<int32_t>(), ElementsAre(1, 0));
  EXPECT_EQ(quantized.StateDict()[0].name, "embeddings.t.weight");

  const quant::EmbeddingCollection stored =
      Quantize(ctx(), floats, {}, {.output_type = DType::kU8});
  EXPECT_EQ(stored.Forward(ctx(), Kjt({"a", "b"}, {4, 0, 1}, {1, 0, 1, 1}))[1]
                .second.values()
                .value()
                .shape(),
            (Shape{2, 8}));
}

TEST_P(QuantizedCollectionsTest, PrunedTables) {
  for (const RemapKind kind : {RemapKind::kArray, RemapKind::kHash}) {
    QuantizedTable table = CountingTable();
    const std::vector<RemapEntry> entries = {{9, 0}, {4, 1}, {0, 2}};
    table.index_remap = std::make_shared<IndexRemap>(ctx(), kind, entries, 10, 3);
    table.pooling = PoolingType::kMean;
    EXPECT_THAT(Pooled(table, {0, 5, 4, 9, 5, -1}, {4, 2}), ElementsAre(6 / 4.0f, 0));
    EXPECT_THAT([&] { Pooled(table, {10}, {1}); }, ThrowsMessage<Error>(HasSubstr("id 10")));
    table = WithDefault(table);
    table.pooling = PoolingType::kSum;
    // Pruned, too large and negative ids read the default row; −1 still adds nothing.
    EXPECT_THAT(Pooled(table, {9, 5, 10, -3, -1}, {1, 1, 1, 1, 1}), ElementsAre(1, 5, 5, 5, 0));
  }
}

TEST_P(QuantizedCollectionsTest, UnknownIdsReadTheDefaultRowAndAreCounted) {
  const QuantizedTable table = WithDefault(CountingTable());
  QuantizedTable strict = CountingTable();
  strict.name = "strict";
  strict.feature_names = {"b"};
  for (const BoundsCheckMode mode : {BoundsCheckMode::kFatal, BoundsCheckMode::kWarning,
                                     BoundsCheckMode::kIgnore, BoundsCheckMode::kNone}) {
    const quant::EmbeddingBagCollection collection(ctx(), {table, strict}, {.bounds_check = mode});
    const KeyedTensor out =
        collection.Forward(ctx(), Kjt({"a", "b"}, {0, 3, 99, 2, -1, 1, 2}, {2, 3, 2, 0}));
    EXPECT_THAT(out.values().value().ToVector<float>(), ElementsAre(6, 5, 8, 0));
    const BoundsCheckReport report = collection.tables().bounds_check_report();
    EXPECT_EQ(report.features[0].bad_ids, 2);
    EXPECT_EQ(report.features[1].bad_ids, 0);
    if (mode == BoundsCheckMode::kFatal) {
      EXPECT_THROW(collection.Forward(ctx(), Kjt({"a", "b"}, {0, 3}, {1, 1})), Error);
    }
  }
}

TEST_P(QuantizedCollectionsTest, ADefaultRowOfATableThatIsQuantized) {
  const Tensor rows = Tensor::From<float>(ctx(), {2, 2}, {1, 1, 2, 2});
  TablesQuantization how;
  how.all.default_row = Tensor::From<float>(ctx(), {7, 7});
  const auto made =
      QuantizeTables(ctx(), {{"t", {"a"}, PoolingType::kSum, nullptr, SourceOf("t", rows)}}, how);
  EXPECT_EQ(made.tables[0].rows.dim(0), 3);
  EXPECT_EQ(made.errors[0].rows, 2);
  EXPECT_THAT(Pooled(made.tables[0], {1, 8}, {1, 1}), ElementsAre(2, 2, 7, 7));
  how.all.default_row = Tensor::From<float>(ctx(), {7});
  EXPECT_THAT(
      [&] {
        QuantizeTables(ctx(), {{"t", {"a"}, PoolingType::kSum, nullptr, SourceOf("t", rows)}}, how);
      },
      ThrowsMessage<Error>(HasSubstr("table t: a default row of f32 [1]; expected f32 [2]")));
}

TEST_P(QuantizedCollectionsTest, ADefaultRowIsCheckedAsARowIs) {
  const Tensor rows = Tensor::From<float>(ctx(), {2, 2}, {1, 1, 2, 2});
  TablesQuantization how;
  const auto quantize = [&] {
    return QuantizeTables(ctx(), {{"t", {"a"}, PoolingType::kSum, nullptr, SourceOf("t", rows)}},
                          how);
  };
  how.all.default_row = Tensor::From<int64_t>(ctx(), {2}, {7, 7});
  EXPECT_THAT(quantize, ThrowsMessage<Error>(HasSubstr("table t: a default row of i64 [2]")));
  how.all.default_row = Tensor::From<float>(ctx(), {2}, {255, std::nanf("")});
  EXPECT_THAT(quantize, ThrowsMessage<Error>(HasSubstr("table t (default row): 1 rows")));
  how.options.nan = NanPolicy::kZero;
  EXPECT_EQ(quantize().errors[0].not_finite, 0);
  EXPECT_THAT(Pooled(quantize().tables[0], {8}, {1}), ElementsAre(255, 0));
  how.all.default_row = Tensor::From<float>(ctx(), {2}, {0, 1e9f});
  EXPECT_EQ(quantize().errors[0].not_finite, 1);
  EXPECT_TRUE(quantize().errors[0].default_row_not_finite);
}

TEST_P(QuantizedCollectionsTest, FromACheckpoint) {
  const std::vector<EmbeddingBagConfig> configs = {BagTable("t1", 12, 8, {"a"}),
                                                   BagTable("t2", 6, 4, {"b"})};
  EmbeddingBagCollection floats(ctx(), configs);
  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/model.safetensors";
  WriteSafetensors(
      ctx(), path,
      {{{"m.t1.weight", floats.tables().weight(0)}, {"m.t2.weight", floats.tables().weight(1)}},
       {}});
  const SafetensorsFile file(path);
  const auto from_file = QuantizeTables(ctx(), FloatTablesOf(file, "m.", configs));
  const auto from_float = QuantizeTables(ctx(), FloatTablesOf(floats.tables()));
  for (size_t t = 0; t < 2; ++t)
    EXPECT_TRUE(SameBits(from_file.tables[t].rows.ToHost(), from_float.tables[t].rows.ToHost()));
  EXPECT_THAT([&] { FloatTablesOf(file, "x.", configs); },
              ThrowsMessage<Error>(HasSubstr("x.t1.weight")));
  std::vector<EmbeddingBagConfig> other = configs;
  other[1].num_embeddings = 7;
  EXPECT_THAT([&] { FloatTablesOf(file, "m.", other); },
              ThrowsMessage<Error>(HasSubstr("table t2: 6 rows of 4 in the file")));
}

TEST_P(QuantizedCollectionsTest, NanInAnyTableStopsAllBeforeTheFirst) {
  const Tensor clean = Tensor::Full(ctx(), {4, 2}, 1),
               dirty = Tensor::Full(ctx(), {4, 2}, std::nan(""));
  int reads = 0;
  RowSource counted = SourceOf("clean", clean);
  counted.read = [&reads, read = counted.read](Context& c, int64_t begin, int64_t end) {
    ++reads;
    return read(c, begin, end);
  };
  const std::vector<quant::FloatTable> tables = {
      {"clean", {"a"}, PoolingType::kSum, nullptr, counted},
      {"dirty", {"b"}, PoolingType::kSum, nullptr, SourceOf("dirty", dirty)}};
  EXPECT_THAT([&] { QuantizeTables(ctx(), tables); },
              ThrowsMessage<Error>(HasSubstr("table dirty: 4 rows: 0 1 2 3")));
  EXPECT_EQ(reads, 1);
  EXPECT_EQ(QuantizeTables(ctx(), tables, {.options = {.nan = NanPolicy::kZero}}).tables.size(),
            2u);
}

TEST_P(QuantizedCollectionsTest, InverseIndicesAndBatchesOfTheirOwn) {
  const QuantizedTable table = CountingTable();
  const quant::EmbeddingBagCollection collection(ctx(), {table});
  KeyedJaggedTensorArgs args;
  args.keys = {"a"};
  args.values = Tensor::From<int32_t>(ctx(), {0, 2});
  args.lengths = Tensor::From<int32_t>(ctx(), {1, 1});
  args.stride_per_key_per_rank = {{2}};
  args.inverse_indices = {{"a"}, Tensor::From<int64_t>(ctx(), {1, 3}, {1, 0, 1})};
  EXPECT_THAT(collection.Forward(ctx(), KeyedJaggedTensor(std::move(args)))
                  .values()
                  .value()
                  .ToVector<float>(),
              ElementsAre(3, 1, 3));
}

TEST_P(QuantizedCollectionsTest, WhatMakesNoSenseIsRefused) {
  const auto refuses = [&](const QuantizedTable& table, QuantizedOptions options,
                           const std::string& why) {
    EXPECT_THAT(
        [&] {
          QuantizedTableBatchedEmbedding(ctx(), {table}, {{"a", 0, "a"}}, options);
        },
        ThrowsMessage<Error>(HasSubstr(why)));
  };
  QuantizedTable table = CountingTable();
  refuses(table, {.output_type = DType::kU8}, "u8 outputs are for pooling NONE");
  refuses(table, {.output_type = DType::kI64}, "outputs of type i64");
  table.has_default_row = true;
  refuses(table, {}, "expected u8 [4, 16]");
  table = CountingTable();
  table.pooling = PoolingType::kNone;
  refuses(table, {.weighted = true}, "take no per-sample weights");
  table.codec.alignment = 1;
  refuses(table, {}, "expected u8 [3, 5]");
  EXPECT_THAT([&] { quant::EmbeddingBagCollection(ctx(), {table}); },
              ThrowsMessage<Error>(HasSubstr("pooling NONE needs an EmbeddingCollection")));
  table = CountingTable();
  EXPECT_THAT([&] { quant::EmbeddingCollection(ctx(), {table}); },
              ThrowsMessage<Error>(HasSubstr("needs an EmbeddingBagCollection")));
  EXPECT_THAT(
      [&] {
        quant::EmbeddingBagCollection(ctx(), {table, table});
      },
      ThrowsMessage<Error>(HasSubstr("of that name is there already")));
  EXPECT_THAT(
      [&] {
        quant::EmbeddingBagCollection(ctx(), {table}, {.weighted = true})
            .Forward(ctx(), Kjt({"a"}, {0}, {1}));
      },
      ThrowsMessage<Error>(HasSubstr("has no weights")));
  TablesQuantization how;
  how.tables["u"] = {};
  EmbeddingBagCollection floats(ctx(), {BagTable("t", 4, 2, {"a"})});
  EXPECT_THAT([&] { Quantize(ctx(), floats, how); },
              ThrowsMessage<Error>(HasSubstr("table u: it is to be quantized")));
}

TESSERA_INSTANTIATE_DEVICES(QuantizedCollectionsTest);

// Threads with contexts of their own share one collection; unknown ids of all of them are counted.
TEST(QuantizedThreadsTest, ForwardsOfSeveralThreads) {
  Context ctx({.threads = 1, .seed = 3});
  EmbeddingBagCollection floats(ctx, {BagTable("t", 100, 16, {"a"})});
  TablesQuantization how;
  how.all.default_row = Tensor::Zeros(ctx, {16});
  const quant::EmbeddingBagCollection collection = Quantize(ctx, floats, how);
  const auto kjt = [](Context& c) {
    return KeyedJaggedTensor::FromLengthsSync({"a"}, Tensor::From<int64_t>(c, {1, 200, 3, 4}),
                                              Tensor::From<int32_t>(c, {3, 1}));
  };
  const auto expected = collection.Forward(ctx, kjt(ctx)).values().value().ToVector<float>();
  std::vector<std::thread> threads;
  std::vector<int> wrong(3);
  for (int& count : wrong)
    threads.emplace_back([&] {
      Context own({.threads = 1});
      for (int i = 0; i < 200; ++i)
        count += collection.Forward(own, kjt(own)).values().value().ToVector<float>() != expected;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, ElementsAre(0, 0, 0));
  EXPECT_EQ(collection.tables().bounds_check_report().features[0].bad_ids, 601);
}

}  // namespace
}  // namespace tessera
