// Quantized tables in parts, beside the same tables in one piece.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <thread>

#include "embedding/quantized/quantize_tables.h"
#include "embedding/quantized/slice_columns.h"
#include "runtime/device/dispatch.h"
#include "sharding/plan/plan_makers.h"
#include "sharding/quantized/sharded_quant_embedding_bag_collection.h"
#include "sharding/quantized/sharded_quant_embedding_collection.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using quant::ShardedQuantEmbeddingBagCollection;
using quant::ShardedQuantEmbeddingCollection;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr int64_t kRows = 50, kDim = 64;
const std::vector<const char*> kCodecs = {"f32",  "f16",           "bf16",      "hfp8", "int8",
                                          "int4", "int8_f32_tail", "int4_tail", "int2", "mx4"};

struct PlanCase {
  std::string name;
  TableSharder sharder;
  bool exact;
};
std::vector<PlanCase> Plans() {
  return {{"table_wise", TableWise(1), true},
          {"column_wise", ColumnWise({0, 2}), true},
          {"column_wise_on_one_rank", ColumnWise({2, 2}), true},
          {"row_wise", RowWise(), false},
          {"row_wise_uneven", RowWise({7, 0, 43}), false}};
}

class ShardedQuantTest : public testing::DeviceTest {
 protected:
  QuantizedTable Table(const std::string& name, const RowCodec& codec, PoolingType pooling,
                       std::vector<std::string> features, Context* on = nullptr) {
    Context& ctx = on != nullptr ? *on : this->ctx();
    QuantizedTable table;
    table.name = name;
    table.num_embeddings = kRows;
    table.embedding_dim = kDim;
    table.feature_names = std::move(features);
    table.pooling = pooling;
    table.codec = codec;
    const Tensor rows = Tensor::Empty(ctx, {kRows, kDim});
    FillUniform(ctx, rows, -1, 1);
    table.rows = EncodeRows(ctx, codec, rows);
    return table;
  }
  ShardingPlan Plan(const TableSharder& sharder, std::vector<std::string> names = {"t"}) {
    std::vector<TableShape> shapes;
    for (const std::string& name : names) shapes.push_back({name, kRows, kDim});
    return MakeShardingPlan({.world_size = 3}, shapes, sharder);
  }
  // Ranks here, there and, in a build with CUDA, on the other kind of device.
  std::vector<std::vector<Device>> Places() const {
    std::vector<std::vector<Device>> places = {{device(), device(), device()}};
    if (kWithCuda && CudaDeviceCount() > 0) {
      const Device other = on_cpu() ? Device::Cuda() : Device::Cpu();
      places.push_back({other, device(), other});
      places.push_back({device(), other, other});
    }
    return places;
  }
  // 40 bags a key, of 0 to 6 ids, −1 among them.
  KeyedJaggedTensor Batch(bool weighted = false, DType type = DType::kI64) {
    std::mt19937 random(5);
    std::vector<int64_t> ids;
    std::vector<int32_t> lengths;
    std::vector<float> weights;
    for (int bag = 0; bag < 80; ++bag) {
      lengths.push_back(static_cast<int32_t>(random() % 7));
      for (int i = 0; i < lengths.back(); ++i) {
        ids.push_back(static_cast<int64_t>(random() % (kRows + 1)) - 1);
        weights.push_back(static_cast<float>(random() % 100) / 50 - 1);
      }
    }
    return KeyedJaggedTensor::FromLengthsSync(
        {"a", "b"}, Tensor::From(ctx(), ids).To(ctx(), type), Tensor::From(ctx(), lengths),
        weighted ? Variable(Tensor::From(ctx(), weights)) : Variable());
  }
  // Compares sums of row blocks, each rounded: 6 rows of numbers up to 1, weights up to 1.
  static void ExpectNear(const std::vector<float>& expected, const std::vector<float>& got) {
    ASSERT_EQ(expected.size(), got.size());
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(expected[i], got[i], 7 * 6 * 0x1p-24f);
  }
  void Compare(const QuantizedTable& table, const PlanCase& plan, QuantizedOptions options,
               const KeyedJaggedTensor& kjt) {
    const quant::EmbeddingBagCollection whole(ctx(), {table}, options);
    const Tensor expected = whole.Forward(ctx(), kjt).values().value();
    for (const std::vector<Device>& devices : Places()) {
      const ShardedQuantEmbeddingBagCollection sharded(ctx(), whole, Plan(plan.sharder),
                                                       {.devices = devices});
      const Tensor got = sharded.Forward(ctx(), kjt).values().value();
      EXPECT_EQ(got.device(), device());
      if (plan.exact)
        EXPECT_TRUE(SameBits(expected, got));
      else
        ExpectNear(expected.ToVector<float>(), got.ToVector<float>());
    }
  }
};

TEST_P(ShardedQuantTest, PooledOverPlansCodecsAndPoolings) {
  for (const PlanCase& plan : Plans())
    for (const char* codec : kCodecs)
      for (const PoolingType pooling : {PoolingType::kSum, PoolingType::kMean}) {
        SCOPED_TRACE(plan.name + " " + codec + " " + ToString(pooling));
        Compare(Table("t", ParseRowCodec(codec), pooling, {"a", "b"}), plan, {}, Batch());
      }
}

TEST_P(ShardedQuantTest, WeightedAndNarrowIds) {
  for (const PlanCase& plan : Plans())
    for (const PoolingType pooling : {PoolingType::kSum, PoolingType::kMean}) {
      SCOPED_TRACE(plan.name);
      Compare(Table("t", {RowType::kInt8}, pooling, {"b"}), plan, {.weighted = true},
              Batch(true, DType::kI32));
    }
}

TEST_P(ShardedQuantTest, HalfOutputsAreRoundedOnce) {
  const QuantizedTable table = Table("t", {RowType::kInt4}, PoolingType::kSum, {"a", "b"});
  for (const PlanCase& plan : Plans())
    if (plan.exact) {
      SCOPED_TRACE(plan.name);
      Compare(table, plan, {.output_type = DType::kF16}, Batch());
    }
}

// Tables of one plan cut in different ways, one of them read under several keys.
TEST_P(ShardedQuantTest, MixedPlansPoolingsAndCodecs) {
  const quant::EmbeddingBagCollection whole(
      ctx(), {Table("u", {RowType::kInt8}, PoolingType::kMean, {"a"}),
              Table("v", {RowType::kInt2}, PoolingType::kSum, {"b", "a"}),
              Table("w", {RowType::kF16}, PoolingType::kMean, {"b"}),
              Table("x", {RowType::kInt4}, PoolingType::kSum, {"a"})});
  std::vector<TableShape> shapes;
  for (const char* name : {"u", "v", "w", "x"}) shapes.push_back({name, kRows, kDim});
  const ShardingPlan plan = MakeShardingPlan({.world_size = 3}, shapes,
                                             {{"u", RowWise()},
                                              {"v", ColumnWise({1, 2})},
                                              {"w", TableWise(0)},
                                              {"x", GridShard({0, 1, 2, 0}, 16)}});
  const KeyedJaggedTensor kjt = Batch();
  const KeyedTensor expected = whole.Forward(ctx(), kjt);
  for (const std::vector<Device>& devices : Places()) {
    const ShardedQuantEmbeddingBagCollection sharded(ctx(), whole, plan, {.devices = devices});
    EXPECT_EQ(sharded.embedding_names(), whole.embedding_names());
    const KeyedTensor got = sharded.Forward(ctx(), kjt);
    ExpectNear(expected.values().value().ToVector<float>(), got.values().value().ToVector<float>());
    for (const char* name : {"a@v", "b@v", "b@w", "a@x"})
      EXPECT_TRUE(SameBits(expected.At(ctx(), name).value().Clone(ctx()),
                           got.At(ctx(), name).value().Clone(ctx())))
          << name;
    int64_t bytes = 0;
    for (int r = 0; r < 3; ++r) bytes += sharded.tables().nbytes(r);
    EXPECT_GE(bytes, whole.tables().nbytes());
  }
}

TEST_P(ShardedQuantTest, SequencesHaveTheSameBits) {
  for (const char* codec : {"f32", "int8", "int4"})
    for (const DType type : {DType::kF32, DType::kBF16}) {
      const quant::EmbeddingCollection whole(
          ctx(), {Table("t", ParseRowCodec(codec), PoolingType::kNone, {"b", "a"})},
          {.need_indices = true, .output_type = type});
      const auto expected = whole.Forward(ctx(), Batch());
      for (const PlanCase& plan : Plans())
        for (const std::vector<Device>& devices : Places()) {
          SCOPED_TRACE(plan.name + " " + codec);
          const ShardedQuantEmbeddingCollection sharded(ctx(), whole, Plan(plan.sharder),
                                                        {.devices = devices});
          const auto got = sharded.Forward(ctx(), Batch());
          ASSERT_EQ(got.size(), 2u);
          for (size_t f = 0; f < 2; ++f) {
            EXPECT_EQ(got[f].first, expected[f].first);
            EXPECT_TRUE(SameBits(got[f].second.values(), expected[f].second.values()));
            EXPECT_TRUE(SameBits(got[f].second.weights(), expected[f].second.weights()));
          }
        }
    }
}

TEST_P(ShardedQuantTest, StoredRowsComeWholeOrNotAtAll) {
  const quant::EmbeddingCollection whole(ctx(),
                                         {Table("t", {RowType::kInt8}, PoolingType::kNone, {"a"})},
                                         {.output_type = DType::kU8});
  for (const std::vector<Device>& devices : Places()) {
    const ShardedQuantEmbeddingCollection sharded(ctx(), whole, Plan(TableWise(2)),
                                                  {.devices = devices});
    EXPECT_TRUE(SameBits(sharded.Forward(ctx(), Batch())[0].second.values(),
                         whole.Forward(ctx(), Batch())[0].second.values()));
  }
  EXPECT_THAT([&] { ShardedQuantEmbeddingCollection(ctx(), whole, Plan(RowWise())); },
              ThrowsMessage<Error>(HasSubstr("table t: u8 outputs")));
}

TEST_P(ShardedQuantTest, DefaultRowsAndRemapsMeanTheSame) {
  QuantizedTable table = Table("t", {RowType::kInt8}, PoolingType::kSum, {"a", "b"});
  QuantizedTable with_default = table;
  with_default.num_embeddings = kRows - 1;  // the last row is the default row
  with_default.has_default_row = true;
  QuantizedTable pruned = table;
  std::vector<RemapEntry> entries;
  for (int64_t id = 0; id < kRows; id += 2) entries.push_back({id, kRows - 1 - id});
  pruned.index_remap = std::make_shared<IndexRemap>(ctx(), RemapKind::kHash, entries, kRows, kRows);
  for (const QuantizedTable& t : {with_default, pruned}) {
    const quant::EmbeddingBagCollection whole(ctx(), {t});
    const Tensor expected = whole.Forward(ctx(), Batch()).values().value();
    const std::vector<TableShape> shapes = {{"t", t.num_embeddings, kDim}};
    for (const TableSharder& sharder : {TableWise(1), RowWise(), ColumnWise({0, 1})}) {
      const ShardedQuantEmbeddingBagCollection sharded(
          ctx(), whole, MakeShardingPlan({.world_size = 3}, shapes, sharder));
      ExpectNear(expected.ToVector<float>(),
                 sharded.Forward(ctx(), Batch()).values().value().ToVector<float>());
      EXPECT_EQ(sharded.tables().bounds_check_report().findings(),
                whole.tables().bounds_check_report().findings());
    }
  }
}

// A collection of the host, whose batches come in on this device.
TEST_P(ShardedQuantTest, TablesMayLieOnTheHost) {
  Context host({.threads = 1, .seed = 4});
  const quant::EmbeddingBagCollection whole(
      host, {Table("t", {RowType::kInt8}, PoolingType::kSum, {"a", "b"}, &host)});
  const std::vector<float> expected =
      whole.Forward(host, Batch().To(ctx(), Device::Cpu())).values().value().ToVector<float>();
  const ShardedQuantEmbeddingBagCollection sharded(
      ctx(), whole, Plan(TableWise(1)), {.devices = {device(), Device::Cpu(), device()}});
  EXPECT_EQ(sharded.Forward(ctx(), Batch()).values().value().ToVector<float>(), expected);
  EXPECT_EQ(sharded.tables().nbytes(1), whole.tables().nbytes());
}

TEST_P(ShardedQuantTest, SeveralThreadsMayCall) {
  const quant::EmbeddingBagCollection whole(
      ctx(), {Table("t", {RowType::kInt8}, PoolingType::kSum, {"a", "b"})});
  const ShardedQuantEmbeddingBagCollection sharded(ctx(), whole, Plan(RowWise()));
  const KeyedJaggedTensor kjt = Batch();
  kjt.Sync(ctx());
  kjt.offsets(ctx());
  const Tensor expected = sharded.Forward(ctx(), kjt).values().value().ToHost();
  std::vector<std::thread> threads;
  std::vector<int> same(3);
  for (size_t t = 0; t < same.size(); ++t)
    threads.emplace_back([&, t] {
      Context mine({.device = device(), .threads = 1});
      mine.WaitFor(ctx());
      for (int i = 0; i < 10; ++i)
        same[t] += SameBits(sharded.Forward(mine, kjt).values().value().ToHost(), expected) ? 1 : 0;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(same, std::vector<int>(3, 10));
}

TEST_P(ShardedQuantTest, WhatCannotBeIsRefused) {
  const quant::EmbeddingBagCollection whole(
      ctx(), {Table("t", {RowType::kInt2}, PoolingType::kSum, {"a"})});
  const auto make = [&](const TableSharder& sharder, std::vector<Device> devices = {}) {
    return [this, &whole, sharder, devices] {
      ShardedQuantEmbeddingBagCollection(ctx(), whole, Plan(sharder), {.devices = devices});
    };
  };
  EXPECT_THAT(make(DataParallel()), ThrowsMessage<Error>(HasSubstr("table t: data_parallel")));
  EXPECT_THAT(make(WithKernel(TableWise(0), ComputeKernel::kFusedUvm)),
              ThrowsMessage<Error>(HasSubstr("fused_uvm")));
  EXPECT_THAT(make(TableWise(0), {Device::Cpu()}),
              ThrowsMessage<Error>(HasSubstr("devices, one a rank")));
  EXPECT_THAT(make(ColumnWiseSizes({30, 10, 24})),
              ThrowsMessage<Error>(HasSubstr("table t: its plan (column_wise) cuts it in front of "
                                             "column 30; rows of int2 are cut at multiples of 4")));
  const ShardedQuantEmbeddingBagCollection sharded(ctx(), whole, Plan(RowWise()));
  const KeyedJaggedTensor bad = KeyedJaggedTensor::FromLengthsSync(
      {"a"}, Tensor::From<int64_t>(ctx(), {kRows}), Tensor::From<int32_t>(ctx(), {1}));
  EXPECT_THAT([&] { sharded.Forward(ctx(), bad); }, ThrowsMessage<Error>(HasSubstr("id 50")));
}

TEST_P(ShardedQuantTest, SlicesDecodeToTheBitsOfTheWholeRow) {
  for (const char* codec : kCodecs) {
    const QuantizedTable table = Table("t", ParseRowCodec(codec), PoolingType::kSum, {"a"});
    const Tensor whole = DecodeRows(ctx(), table.codec, table.rows, kDim);
    const Tensor slice = SliceColumns(ctx(), table.codec, table.rows, kDim, 32, 32);
    EXPECT_TRUE(
        SameBits(DecodeRows(ctx(), table.codec, slice, 32), whole.Narrow(1, 32, 32).Clone(ctx())))
        << codec;
  }
}

TESSERA_INSTANTIATE_DEVICES(ShardedQuantTest);

}  // namespace
}  // namespace tessera
