// Tables whose ids are made unique before they travel, against the same tables without.
#include "sharding/exchange/dedup.h"

#include <gtest/gtest.h>

#include <random>

#include "comm/local_communicator.h"
#include "sharding/plan/plan_makers.h"
#include "sharding/sharded_tables.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

std::vector<BaseEmbeddingConfig> Tables() {
  std::vector<BaseEmbeddingConfig> tables(2);
  tables[0].name = "t0";
  tables[0].num_embeddings = 7;
  tables[0].embedding_dim = 8;
  tables[0].feature_names = {"a", "c"};
  tables[0].optimizer = RowwiseAdagrad{.lr = 0.1f, .eps = 1e-3f};
  tables[1].name = "t1";
  tables[1].num_embeddings = 300;
  tables[1].embedding_dim = 16;
  tables[1].feature_names = {"b", "a2"};
  tables[1].optimizer = Sgd{.lr = 0.1f};
  return tables;
}

// Feature order is not table order.
std::vector<EmbeddingFeature> Features() {
  return {{"a", 0, "a"}, {"b", 1, "b"}, {"c", 0, "c"}, {"a2", 1, "a"}};
}

// A batch of 5, with many ids that come again, and `bad` ones below no table's rows. Rank 1 has no
// example.
KeyedJaggedTensor Batch(Context& ctx, int rank, int step, bool wide_ids, bool bad) {
  std::mt19937 random(static_cast<unsigned>(10 * rank + step));
  const int64_t examples = rank == 1 ? 0 : 5;
  std::vector<int64_t> lengths, ids;
  for (const int64_t rows : {7, 300, 7})
    for (int64_t b = 0; b < examples; ++b) {
      lengths.push_back(static_cast<int64_t>(random() % 40));
      for (int64_t i = 0; i < lengths.back(); ++i)
        ids.push_back(bad && random() % 16 == 0 ? 1000 : static_cast<int64_t>(random()) % rows);
    }
  KeyedJaggedTensorArgs args{.keys = {"a", "b", "c"}, .values = Tensor::From(ctx, ids)};
  if (!wide_ids) args.values = args.values.To(ctx, DType::kI32);
  args.lengths = Tensor::From(ctx, lengths);
  args.stride = examples;
  return KeyedJaggedTensor(std::move(args));
}

struct Case {
  const char* name;
  int world;
  TableSharder sharder;
  ShardedTablesOptions options = {};
  bool wide_ids = true, bad = false;
};
std::vector<Case> Cases() {
  ShardedTablesOptions half{.max_gradient = 0.5f, .output_type = DType::kF16};
  ShardedTablesOptions lenient{.bounds_check = BoundsCheckMode::kIgnore};
  ShardedTablesOptions unchecked{.bounds_check = BoundsCheckMode::kNone};
  return {{"one rank", 1, TableWise(0)},
          {"table_wise", 3, TableWise(2), {}, false},
          {"table_wise, half outputs, clamped", 2, TableWise(1), half},
          {"row_wise", 4, RowWise()},
          {"row_wise, bad ids mended", 2, RowWise(), lenient, true, true},
          {"row_wise, bad ids", 2, RowWise(), unchecked, true, true},
          {"table_wise, bad ids", 2, TableWise(0), unchecked, true, true},
          {"column_wise", 3, ColumnWise({0, 2})},
          {"data_parallel", 3, DataParallel(), {}, false}};
}

struct Result {
  std::vector<std::vector<float>> outputs, weights;
  int64_t bytes = 0;
};

// The gradient of each output is a pattern of its own.
class PatternLoss final : public Function {
 public:
  PatternLoss(const std::vector<Variable>& outputs, int step) : step_(step) {
    for (const Variable& v : outputs) {
      shapes_.push_back(v.shape());
      types_.push_back(v.value().dtype());
    }
  }
  std::string_view name() const override { return "pattern"; }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>&) override {
    std::vector<Tensor> grads;
    for (size_t i = 0; i < shapes_.size(); ++i) {
      std::vector<float> values(static_cast<size_t>(shapes_[i].numel()));
      for (size_t e = 0; e < values.size(); ++e)
        values[e] = static_cast<float>((e * 5 + i + static_cast<size_t>(step_)) % 13) / 8 - 0.7f;
      grads.push_back(Tensor::From(ctx, shapes_[i], values).To(ctx, types_[i]));
    }
    return grads;
  }

 private:
  std::vector<Shape> shapes_;
  std::vector<DType> types_;
  int step_;
};

class DedupTest : public testing::DeviceTest {
 protected:
  static constexpr int kSteps = 2;

  // The results of each rank: outputs of all steps, then weights.
  std::vector<Result> Train(const Case& c, IdDedup dedup) {
    const std::vector<BaseEmbeddingConfig> tables = Tables();
    std::vector<TableShape> shapes;
    for (const BaseEmbeddingConfig& t : tables)
      shapes.push_back({t.name, t.num_embeddings, t.embedding_dim});
    const ShardingPlan plan =
        MakeShardingPlan({.world_size = c.world, .local_size = c.world}, shapes, c.sharder);
    std::vector<Result> results(static_cast<size_t>(c.world));
    RunLocalRanks(c.world, [&](Communicator& comm) {
      Result& result = results[static_cast<size_t>(comm.rank())];
      Context own({.device = device(), .threads = 1, .seed = 4});
      ShardedTablesOptions options = c.options;
      options.sharding.dedup_ids = dedup;
      ShardedTables sharded(own, comm, tables, {PoolingType::kNone, PoolingType::kNone}, Features(),
                            plan, options);
      for (int s = 0; s < kSteps; ++s) Step(own, sharded, c, s, result);
      for (const HeldShard& held : sharded.shards())
        result.weights.push_back(held.tables->weight(held.index).ToVector<float>());
      result.bytes = comm.bytes_sent();
    });
    return results;
  }

  static void Step(Context& ctx, ShardedTables& sharded, const Case& c, int step, Result& result) {
    Tape tape(ctx);
    const KeyedJaggedTensor kjt = Batch(ctx, sharded.comm().rank(), step, c.wide_ids, c.bad);
    const std::vector<Variable> outputs = sharded.Forward(ctx, kjt);
    for (const Variable& v : outputs) {
      EXPECT_EQ(v.value().dtype(), c.options.output_type);
      result.outputs.push_back(v.value().To(ctx, DType::kF32).ToVector<float>());
    }
    tape.Backward(Record(ctx, std::make_unique<PatternLoss>(outputs, step), outputs,
                         Tensor::Zeros(ctx, {1})));
  }
};

void ExpectNear(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b,
                float tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].size(), b[i].size());
    for (size_t e = 0; e < a[i].size(); ++e) ASSERT_NEAR(a[i][e], b[i][e], tolerance) << i;
  }
}

TEST_P(DedupTest, TrainsAsWithout) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.name);
    const std::vector<Result> plain = Train(c, IdDedup::kNone), distinct = Train(c, IdDedup::kRank);
    int64_t plain_bytes = 0, distinct_bytes = 0;
    for (size_t r = 0; r < plain.size(); ++r) {
      SCOPED_TRACE(r);
      // Before the first update they are the same rows.
      for (size_t f = 0; f < Features().size(); ++f)
        EXPECT_EQ(plain[r].outputs[f], distinct[r].outputs[f]);
      ExpectNear(plain[r].outputs, distinct[r].outputs,
                 c.options.output_type == DType::kF16 ? 2e-3f : 1e-4f);
      ExpectNear(plain[r].weights, distinct[r].weights, 1e-4f);
      plain_bytes += plain[r].bytes;
      distinct_bytes += distinct[r].bytes;
    }
    if (c.world > 1 && std::string(c.name) != "data_parallel") {
      EXPECT_LT(distinct_bytes, plain_bytes);
    }
  }
}

TEST_P(DedupTest, PooledTablesAreRefused) {
  RunLocalRanks(1, [&](Communicator& comm) {
    Context own({.device = device(), .threads = 1});
    const BaseEmbeddingConfig table = Tables()[0];
    const TableShape shape{table.name, table.num_embeddings, table.embedding_dim};
    EXPECT_THROW(ShardedTables(own, comm, {table}, {PoolingType::kSum}, {{"a", 0, "a"}},
                               MakeShardingPlan({.world_size = 1, .local_size = 1}, {&shape, 1},
                                                TableWise(0)),
                               {.sharding = {.dedup_ids = IdDedup::kRank}}),
                 Error);
  });
}

TEST_P(DedupTest, IdsOfATableComeOnce) {
  const Tensor values = Tensor::From(ctx(), std::vector<int64_t>{7, 3, 7, 5, 3, 9});
  const DistFeature a{values, 0, 3, 0, 1}, b{values, 3, 4, 1, 1}, c{values, 4, 6, 2, 1};
  const DedupedIds ids = DedupIds(ctx(), {a, b, c}, {0, 1, 0}, 3);
  using Numbers = std::vector<int64_t>;
  EXPECT_EQ(ids.kjt.values().ToVector<int64_t>(), (Numbers{3, 7, 9, 5}));
  EXPECT_EQ(ids.kjt.length_per_key(), (Numbers{3, 1, 0}));
  EXPECT_EQ(ids.places[0].ToVector<int64_t>(), (Numbers{1, 0, 1, 0, 2}));
  EXPECT_EQ(ids.places[1].ToVector<int64_t>(), (Numbers{0}));
  EXPECT_EQ(ids.readers[2].begin, 3);
  EXPECT_EQ(ids.readers[2].end, 5);
}

TESSERA_INSTANTIATE_DEVICES(DedupTest);

}  // namespace
}  // namespace tessera
