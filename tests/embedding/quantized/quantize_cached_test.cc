// Rows and states of a table with a cache are read with the updates that the cache still holds, or
// not at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "embedding/fused_optimizer.h"
#include "embedding/quantized/quantize_tables.h"
#include "runtime/ops/arithmetic.h"
#include "tests/testing/error_of.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;

class CachedCollection : public ::testing::Test {
 protected:
  CachedCollection() : collection_(Make(EmbeddingLocation::kManagedCaching)) {}

  EmbeddingBagCollection Make(EmbeddingLocation location) {
    EmbeddingBagConfig table;
    table.name = "t";
    table.num_embeddings = 64;
    table.embedding_dim = 4;
    table.feature_names = {"f"};
    table.optimizer = RowwiseAdagrad{.lr = 0.5f};
    if (location == EmbeddingLocation::kDisk)
      table.init_range = {1, 1}, table.cache.folder = ::testing::TempDir();
    else
      table.init_fn = [](Context& ctx, const Tensor& rows) { rows.Fill(ctx, 1); };
    table.location = location;
    table.cache.ways = 4;
    table.cache.load_factor = 0.5;
    return EmbeddingBagCollection(ctx_, {table});
  }
  // Updates row 3.
  void Train() {
    Tape tape(ctx_);
    tape.Backward(Sum(ctx_, collection_.Forward(ctx_, Kjt()).values()));
  }
  KeyedJaggedTensor Kjt() {
    return KeyedJaggedTensor::FromLengthsSync({"f"}, Tensor::From<int64_t>(ctx_, {3}),
                                              Tensor::From<int64_t>(ctx_, {1}));
  }
  float Row3() { return collection_.tables().weight(0).data<float>()[3 * 4]; }

  Context ctx_{ContextOptions{.threads = 1}};
  EmbeddingBagCollection collection_;
};

TEST_F(CachedCollection, IsQuantizedWithWhatItsCacheHolds) {
  Train();
  quant::TablesQuantization how;
  how.all.codec = ParseRowCodec("f32");
  quant::EmbeddingBagCollection stored = quant::Quantize(ctx_, collection_, how);
  const float served = stored.Forward(ctx_, Kjt()).values().value().data<float>()[0];
  EXPECT_LT(served, 1);
  EXPECT_EQ(served, Row3());
}

// Blocks of rows are read from the disk after the cache has written its updates there.
TEST_F(CachedCollection, IsQuantizedFromDisk) {
  EmbeddingBagCollection on_disk = Make(EmbeddingLocation::kDisk);
  for (EmbeddingBagCollection* collection : {&collection_, &on_disk}) {
    Tape tape(ctx_);
    tape.Backward(Sum(ctx_, collection->Forward(ctx_, Kjt()).values()));
  }
  for (const char* codec : {"f32", "int4"}) {
    quant::TablesQuantization how;
    how.all.codec = ParseRowCodec(codec);
    const quant::EmbeddingBagCollection expected = quant::Quantize(ctx_, collection_, how);
    const quant::EmbeddingBagCollection stored = quant::Quantize(ctx_, on_disk, how);
    EXPECT_EQ(stored.tables().tables()[0].rows.ToVector<uint8_t>(),
              expected.tables().tables()[0].rows.ToVector<uint8_t>())
        << codec;
  }
}

// Tables are named once and quantized after more training.
TEST_F(CachedCollection, IsQuantizedAsItIsThen) {
  const std::vector<quant::FloatTable> tables = quant::FloatTablesOf(collection_.tables());
  const auto row3 = [&] {
    const QuantizedTable t =
        quant::QuantizeTables(ctx_, tables, {.all = {.codec = {RowType::kF32}}}).tables[0];
    return DecodeRows(ctx_, t.codec, t.rows, 4).data<float>()[3 * 4];
  };
  EXPECT_EQ(row3(), 1);
  for (int step = 0; step < 2; ++step) {
    Train();
    const float trained = row3();
    EXPECT_LT(trained, 1);
    EXPECT_EQ(trained, Row3());
  }
}

TEST_F(CachedCollection, IsNotReadWhileItsCacheHoldsUpdates) {
  EXPECT_EQ(Row3(), 1);
  Train();
  const std::string stale = "table t: its cache (MANAGED_CACHING) holds updates";
  EXPECT_THAT(ErrorOf([&] { collection_.tables().weight(0); }), HasSubstr(stale));
  EXPECT_THAT(ErrorOf([&] { collection_.tables().optimizer_states(0); }), HasSubstr(stale));
  FusedOptimizer optimizer(collection_.tables());
  EXPECT_THAT(ErrorOf([&] { optimizer.StateDict(); }), HasSubstr(stale));
  TableBatchedEmbedding(collection_.tables()).caches().Flush(ctx_);
  EXPECT_LT(Row3(), 1);
  const OptimizerStateDict state = optimizer.StateDict();
  Train();
  optimizer.LoadStateDict(ctx_, state);
  EXPECT_LT(Row3(), 1);
}

TEST_F(CachedCollection, SingleRowsAreTakenWithWhatItsCacheHolds) {
  Train();
  const Tensor row = collection_.tables().rows().Take(ctx_, 0, 0, Tensor::From<int64_t>(ctx_, {3}));
  EXPECT_LT(row.data<float>()[0], 1);
}

}  // namespace
}  // namespace tessera
