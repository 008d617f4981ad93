// Sharded = unsharded: every type of sharding against one TableBatchedEmbedding that is fed with the
// bags of all ranks in the order of the ranks.
#include "sharding/sharded_tables.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <mutex>
#include <numeric>
#include <random>

#include "comm/local_communicator.h"
#include "runtime/ops/arithmetic.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using Numbers = std::vector<int64_t>;

constexpr int kTypes = 7, kMixed = kTypes, kSteps = 3;
const int kLocalSize[] = {0, 1, 2, 3, 2, 0, 0, 0, 4};  // by world size

struct Combination {
  int type = 0;  // a ShardingType, or kMixed: another one for each table
  PoolingType pooling = PoolingType::kSum;
  bool weighted = false, variable = false;
  int rule = 0;
  int world = 1;
  DType row_type = DType::kF32;

  std::string Name() const {
    return Format("type {}, pooling {}, {}, {}, rule {}, {} ranks",
                  type == kMixed ? "mixed" : ToString(static_cast<ShardingType>(type)),
                  ToString(pooling), weighted ? "weighted" : "not weighted",
                  variable ? "variable batch" : "one batch", rule, world);
  }
};

AnyRule RuleOf(int rule) {
  if (rule == 0) return Sgd{.lr = 0.1f};
  if (rule == 1) return RowwiseAdagrad{.lr = 0.1f, .eps = 1e-4f};
  return Adam{.lr = 0.1f, .eps = 1e-4f};
}

struct TestTable {
  std::string name;
  int64_t rows, dim;
  std::vector<std::string> keys;
};
const std::vector<TestTable>& Tables() {
  static const std::vector<TestTable> tables = {
      {"t0", 13, 8, {"a"}}, {"t1", 5, 12, {"b", "c"}}, {"t2", 29, 6, {"a", "d"}}};
  return tables;
}
const std::vector<std::string>& Keys() {
  static const std::vector<std::string> keys = {"d", "a", "unused", "b", "c"};
  return keys;
}

std::vector<EmbeddingFeature> Features() {
  std::vector<EmbeddingFeature> features;
  for (size_t t = 0; t < Tables().size(); ++t)
    for (const std::string& key : Tables()[t].keys)
      features.push_back({key + "@" + Tables()[t].name, static_cast<int>(t), key});
  return features;
}

// ---- plans

void AddRowBlocks(TableSharding& s, const std::vector<int>& ranks, int64_t rows, int64_t column,
                  int64_t columns) {
  const auto n = static_cast<int64_t>(ranks.size());
  const int64_t block = (rows + n - 1) / n;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t begin = std::min(i * block, rows), end = std::min(begin + block, rows);
    s.shards.push_back({ranks[static_cast<size_t>(i)], begin, column, end - begin, columns});
  }
}

std::vector<int> RanksFrom(int first, int count) {
  std::vector<int> ranks(static_cast<size_t>(count));
  std::iota(ranks.begin(), ranks.end(), first);
  return ranks;
}

// Blocks of columns are uneven.
TableSharding ShardingOf(ShardingType type, size_t t, int world, int local) {
  const TestTable& table = Tables()[t];
  const int home = static_cast<int>(t) % world, nodes = world / local,
            node = static_cast<int>(t) % nodes;
  const int64_t left = table.dim / 2 - 1, right = table.dim - left;
  TableSharding s;
  s.type = type;
  switch (type) {
    case ShardingType::kDataParallel:
      for (int r = 0; r < world; ++r) s.shards.push_back({r, 0, 0, table.rows, table.dim});
      break;
    case ShardingType::kTableWise:
      s.shards = {{home, 0, 0, table.rows, table.dim}};
      break;
    case ShardingType::kColumnWise:
      s.shards = {{home, 0, 0, table.rows, left}, {(home + 1) % world, 0, left, table.rows, right}};
      break;
    case ShardingType::kRowWise:
      AddRowBlocks(s, RanksFrom(0, world), table.rows, 0, table.dim);
      break;
    case ShardingType::kTableRowWise:
      AddRowBlocks(s, RanksFrom(node * local, local), table.rows, 0, table.dim);
      break;
    case ShardingType::kTableColumnWise:
      s.shards = {{node * local, 0, 0, table.rows, left},
                  {node * local + local - 1, 0, left, table.rows, right}};
      break;
    case ShardingType::kGridShard:
      AddRowBlocks(s, RanksFrom(node * local, local), table.rows, 0, left);
      AddRowBlocks(s, RanksFrom((node + 1) % nodes * local, local), table.rows, left, right);
      break;
  }
  return s;
}

ShardingPlan PlanOf(const Combination& c) {
  ShardingPlan plan;
  plan.world_size = c.world;
  plan.local_size = kLocalSize[c.world];
  for (size_t t = 0; t < Tables().size(); ++t) {
    const int type =
        c.type == kMixed ? (static_cast<int>(t) * 3 + c.rule + c.world) % kTypes : c.type;
    plan.tables[Tables()[t].name] =
        ShardingOf(static_cast<ShardingType>(type), t, c.world, plan.local_size);
  }
  return plan;
}

// ---- batches

struct KeyBags {
  std::vector<Numbers> bags;
  std::vector<std::vector<float>> weights;
  Numbers inverse;
};
struct RankBatch {
  int64_t examples = 0;
  std::map<std::string, KeyBags> keys;
};

int64_t RowsOf(const std::string& key) {
  int64_t rows = 1000;
  for (const TestTable& t : Tables())
    if (std::find(t.keys.begin(), t.keys.end(), key) != t.keys.end()) rows = std::min(rows, t.rows);
  return rows;
}

RankBatch DrawBatch(std::mt19937& random, const Combination& c) {
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
  RankBatch batch;
  batch.examples = below(5);
  for (const std::string& key : Keys()) {
    KeyBags& k = batch.keys[key];
    const int64_t bags = c.variable && batch.examples > 0 ? 1 + below(3) : batch.examples;
    for (int64_t b = 0; b < bags; ++b) {
      k.bags.emplace_back();
      k.weights.emplace_back();
      for (int64_t n = below(5); n > 0; --n) {
        k.bags.back().push_back(below(RowsOf(key)));
        k.weights.back().push_back(static_cast<float>(below(1000)) / 500 - 1);
      }
    }
    for (int64_t e = 0; e < batch.examples; ++e)
      k.inverse.push_back(below(std::max<int64_t>(bags, 1)));
  }
  return batch;
}

// The bags of ranks [first, end) as one KJT.
KeyedJaggedTensor KjtOf(Context& ctx, const Combination& c, const std::vector<RankBatch>& batches,
                        size_t first, size_t end) {
  Numbers ids, lengths, inverse;
  std::vector<float> weights;
  int64_t examples = 0;
  for (size_t r = first; r < end; ++r) examples += batches[r].examples;
  KeyedJaggedTensorArgs args{.keys = Keys(), .values = {}};
  for (const std::string& key : Keys()) {
    int64_t bags = 0;
    for (size_t r = first; r < end; ++r) {
      const KeyBags& k = batches[r].keys.at(key);
      for (const int64_t i : k.inverse) inverse.push_back(bags + i);
      for (size_t b = 0; b < k.bags.size(); ++b) {
        lengths.push_back(static_cast<int64_t>(k.bags[b].size()));
        ids.insert(ids.end(), k.bags[b].begin(), k.bags[b].end());
        weights.insert(weights.end(), k.weights[b].begin(), k.weights[b].end());
      }
      bags += static_cast<int64_t>(k.bags.size());
    }
    if (c.variable) args.stride_per_key_per_rank.push_back({bags});
  }
  args.values = Tensor::From(ctx, ids);
  args.lengths = Tensor::From(ctx, lengths);
  if (c.weighted) args.weights = Variable(Tensor::From(ctx, weights), /*requires_grad=*/true);
  const auto keys = static_cast<int64_t>(Keys().size());
  if (c.variable)
    args.inverse_indices = {Keys(), Tensor::From(ctx, {keys, examples}, inverse)};
  else
    args.stride = examples;
  return KeyedJaggedTensor(std::move(args));
}

// Gradients of what a rank gets, on the host: pooled [examples, ΣD], or [N_f, D] a feature.
std::vector<Tensor> DrawGradients(std::mt19937& random, const Combination& c,
                                  const RankBatch& batch) {
  std::vector<Shape> shapes;
  int64_t columns = 0;
  for (const EmbeddingFeature& f : Features()) {
    const int64_t dim = Tables()[static_cast<size_t>(f.table)].dim;
    int64_t ids = 0;
    for (const Numbers& bag : batch.keys.at(f.key).bags) ids += static_cast<int64_t>(bag.size());
    columns += dim;
    if (c.pooling == PoolingType::kNone) shapes.push_back({ids, dim});
  }
  if (c.pooling != PoolingType::kNone) shapes.push_back({batch.examples, columns});
  std::vector<Tensor> grads;
  for (const Shape& shape : shapes) {
    grads.push_back(Tensor::EmptyHost(shape));
    for (float& x : grads.back().span<float>())
      x = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 1000;
  }
  return grads;
}

Tensor OnHostRows(const std::vector<Tensor>& parts) {
  int64_t rows = 0;
  for (const Tensor& t : parts) rows += t.dim(0);
  const Tensor all = Tensor::EmptyHost({rows, parts[0].dim(1)}, parts[0].dtype());
  int64_t at = 0;
  Context cpu({.threads = 1});
  for (const Tensor& t : parts) {
    all.Rows(at, at + t.dim(0)).CopyFrom(cpu, t);
    at += t.dim(0);
  }
  return all;
}

// ---- what both sides do

void BackwardAll(Context& ctx, Tape& tape, const std::vector<Variable>& outputs,
                 const std::vector<Tensor>& grads) {
  Variable loss;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Variable part = Sum(ctx, Mul(ctx, outputs[i], grads[i].To(ctx, ctx.device())));
    loss = loss ? Add(ctx, loss, part) : part;
  }
  tape.Backward(loss);
}

BaseEmbeddingConfig ConfigOf(const Combination& c, const TestTable& t) {
  BaseEmbeddingConfig config;
  config.name = t.name;
  config.num_embeddings = t.rows;
  config.embedding_dim = t.dim;
  config.feature_names = t.keys;
  config.optimizer = RuleOf(c.rule);
  config.data_type = c.row_type;
  config.stochastic_rounding = c.row_type != DType::kF32;
  return config;
}

Tensor FirstWeights(const TestTable& t) {
  const Tensor weight = Tensor::EmptyHost({t.rows, t.dim});
  std::mt19937 random(static_cast<unsigned>(t.rows));
  for (float& x : weight.span<float>()) x = static_cast<float>(random() % 1000) / 500 - 1;
  return weight;
}

// All that is compared, on the host.
struct Result {
  std::vector<std::vector<Tensor>> outputs;  // [step][output], ranks joined
  std::vector<Tensor> weight_grads;          // [step]
  std::map<std::string, Tensor> tables;      // whole; states as "t0.momentum1", a row a block
};

// ---- without shards: a table for each block of columns

Numbers ColumnBlocks(const ShardingPlan& plan, const TestTable& t) {
  Numbers begins;
  for (const Shard& s : plan.tables.at(t.name).shards)
    if (std::find(begins.begin(), begins.end(), s.column_offset) == begins.end())
      begins.push_back(s.column_offset);
  std::sort(begins.begin(), begins.end());
  return begins;
}

class Whole {
 public:
  Whole(Context& ctx, const Combination& c, const ShardingPlan& plan) : ctx_(ctx), c_(c) {
    std::vector<BaseEmbeddingConfig> configs;
    std::vector<std::vector<int>> blocks_of;
    for (const TestTable& t : Tables()) {
      const Numbers begins = ColumnBlocks(plan, t);
      blocks_of.emplace_back();
      for (size_t b = 0; b < begins.size(); ++b) {
        BaseEmbeddingConfig config = ConfigOf(c, t);
        config.first_column = begins[b];
        config.embedding_dim = (b + 1 < begins.size() ? begins[b + 1] : t.dim) - begins[b];
        blocks_of.back().push_back(static_cast<int>(configs.size()));
        configs.push_back(config);
      }
    }
    std::vector<EmbeddingFeature> features;
    for (const EmbeddingFeature& f : Features())
      for (const int block : blocks_of[static_cast<size_t>(f.table)])
        features.push_back({f.name + std::to_string(block), block, f.key});
    tables_ = std::make_unique<TableBatchedEmbedding>(
        ctx, configs, std::vector<PoolingType>(configs.size(), c.pooling), features,
        TableBatchedEmbeddingOptions{.weighted = c.weighted,
                                     .rounding_seed = 5,
                                     .gradient_scale = 1.0f / static_cast<float>(c.world)});
    for (int b = 0; b < tables_->num_tables(); ++b)
      tables_->weight(b).CopyFrom(ctx, First(b).To(ctx, ctx.device()).To(ctx, c.row_type));
  }

  void Step(const std::vector<RankBatch>& batches, const std::vector<Tensor>& grads,
            Result& result) {
    Tape tape(ctx_);
    const KeyedJaggedTensor kjt = KjtOf(ctx_, c_, batches, 0, batches.size());
    const EmbeddingOutputs out = tables_->ForwardAll(ctx_, kjt);
    if (c_.pooling != PoolingType::kNone) {
      result.outputs.push_back({out.pooled.value().ToHost()});
      BackwardAll(ctx_, tape, {out.pooled}, grads);
    } else {
      BackwardSequences(tape, out.sequences, grads, result);
    }
    if (c_.weighted) result.weight_grads.push_back(kjt.weights().grad().ToHost());
  }

  void Store(Result& result) const {
    for (int b = 0; b < tables_->num_tables(); ++b) {
      const BaseEmbeddingConfig& block = tables_->table(b);
      result.tables[Format("{}/{}", block.name, block.first_column)] = tables_->weight(b).ToHost();
      for (const OptimizerState& s : tables_->optimizer_states(b))
        result.tables[Format("{}/{}.{}", block.name, block.first_column, s.name)] =
            s.tensor.ToHost();
    }
  }

 private:
  Tensor First(int b) const {
    const BaseEmbeddingConfig& block = tables_->table(b);
    for (const TestTable& t : Tables())
      if (t.name == block.name)
        return FirstWeights(t).Narrow(1, block.first_column, block.embedding_dim);
    return {};
  }
  // Each feature's blocks are sequences of their own.
  void BackwardSequences(Tape& tape, const std::vector<Variable>& sequences,
                         const std::vector<Tensor>& grads, Result& result) {
    std::vector<Tensor> parts, joined;
    for (size_t i = 0, f = 0; f < Features().size(); ++f) {
      const int64_t dim = grads[f].dim(1);
      joined.push_back(Tensor::EmptyHost(grads[f].shape()));
      for (int64_t column = 0; column < dim; ++i) {
        const int64_t n = sequences[i].dim(1);
        Context cpu({.threads = 1});
        joined[f].Narrow(1, column, n).CopyFrom(cpu, sequences[i].value().ToHost());
        parts.push_back(grads[f].Narrow(1, column, n).Contiguous(cpu));
        column += n;
      }
    }
    result.outputs.push_back(joined);
    BackwardAll(ctx_, tape, sequences, parts);
  }

  Context& ctx_;
  Combination c_;
  std::unique_ptr<TableBatchedEmbedding> tables_;
};

// ---- with shards

class Collected {
 public:
  explicit Collected(const Combination& c) : c_(c), outputs_(kSteps), weight_grads_(kSteps) {
    for (int s = 0; s < kSteps; ++s) {
      outputs_[static_cast<size_t>(s)].resize(static_cast<size_t>(c.world));
      weight_grads_[static_cast<size_t>(s)].resize(static_cast<size_t>(c.world));
    }
  }
  void Step(int rank, size_t step, const std::vector<Variable>& outputs,
            const KeyedJaggedTensor& kjt) {
    const std::lock_guard lock(mutex_);
    for (const Variable& v : outputs)
      outputs_[step][static_cast<size_t>(rank)].push_back(v.value().ToHost());
    if (c_.weighted) weight_grads_[step][static_cast<size_t>(rank)] = kjt.weights().grad().ToHost();
  }
  void Tables(const ShardedTables& tables) {
    const std::lock_guard lock(mutex_);
    for (const HeldShard& held : tables.shards()) {
      if (held.replicated && held.shard.rank != 0) continue;
      int64_t rows = 0;
      for (const TestTable& t : tessera::Tables())
        if (t.name == held.table) rows = t.rows;
      const std::string name = Format("{}/{}", held.table, held.shard.column_offset);
      Put(name, held.tables->weight(held.index), held.shard, rows);
      for (const OptimizerState& s : held.tables->optimizer_states(held.index))
        Put(name + "." + s.name, s.tensor, held.shard, rows);
    }
  }
  Result Take(const std::vector<std::vector<RankBatch>>& batches) {
    for (size_t s = 0; s < outputs_.size(); ++s) {
      std::vector<Tensor> joined;
      for (size_t o = 0; o < outputs_[s][0].size(); ++o) {
        std::vector<Tensor> parts;
        for (const auto& of_rank : outputs_[s]) parts.push_back(of_rank[o]);
        joined.push_back(OnHostRows(parts));
      }
      result_.outputs.push_back(joined);
      if (c_.weighted) result_.weight_grads.push_back(ByKey(batches[s], weight_grads_[s]));
    }
    return result_;
  }

 private:
  static Tensor ByKey(const std::vector<RankBatch>& batches, const std::vector<Tensor>& grads) {
    std::vector<float> all;
    std::vector<size_t> next(grads.size());
    for (const std::string& key : Keys())
      for (size_t r = 0; r < grads.size(); ++r)
        for (const Numbers& bag : batches[r].keys.at(key).bags)
          for (size_t i = 0; i < bag.size(); ++i) all.push_back(grads[r].data<float>()[next[r]++]);
    Context cpu({.threads = 1});
    return Tensor::From(cpu, all);
  }
  void Put(const std::string& name, const Tensor& part, const Shard& shard, int64_t rows) {
    Tensor& whole = result_.tables[name];
    Shape shape = part.shape();
    shape[0] = rows;
    if (!whole) whole = Tensor::EmptyHost(shape, part.dtype());
    Context cpu({.threads = 1});
    whole.Rows(shard.row_offset, shard.row_offset + shard.rows).CopyFrom(cpu, part.ToHost());
  }

  Combination c_;
  std::mutex mutex_;
  std::vector<std::vector<std::vector<Tensor>>> outputs_;  // [step][rank][output]
  std::vector<std::vector<Tensor>> weight_grads_;
  Result result_;
};

void RunRank(Context& ctx, Communicator& comm, const Combination& c, const ShardingPlan& plan,
             const std::vector<std::vector<RankBatch>>& batches,
             const std::vector<std::vector<std::vector<Tensor>>>& grads, Collected& collected) {
  std::vector<BaseEmbeddingConfig> configs;
  for (const TestTable& t : Tables()) configs.push_back(ConfigOf(c, t));
  ShardedTables tables(ctx, comm, configs, std::vector<PoolingType>(configs.size(), c.pooling),
                       Features(), plan, {.weighted = c.weighted, .rounding_seed = 5});
  for (const HeldShard& held : tables.shards())
    for (const TestTable& t : Tables())
      if (t.name == held.table)
        held.tables->weight(held.index)
            .CopyFrom(ctx, FirstWeights(t)
                               .Rows(held.shard.row_offset, held.shard.row_offset + held.shard.rows)
                               .Narrow(1, held.shard.column_offset, held.shard.columns)
                               .To(ctx, ctx.device())
                               .To(ctx, c.row_type));
  const auto rank = static_cast<size_t>(comm.rank());
  for (size_t s = 0; s < kSteps; ++s) {
    Tape tape(ctx);
    const KeyedJaggedTensor kjt = KjtOf(ctx, c, batches[s], rank, rank + 1);
    const std::vector<Variable> outputs = tables.Forward(ctx, kjt);
    BackwardAll(ctx, tape, outputs, grads[s][rank]);
    collected.Step(comm.rank(), s, outputs, kjt);
  }
  collected.Tables(tables);
}

// ---- comparison

void ExpectSame(const Tensor& got, const Tensor& expected, bool exact, const std::string& what) {
  ASSERT_EQ(got.shape(), expected.shape()) << what;
  if (exact) {
    EXPECT_TRUE(SameBits(got, expected)) << what;
    return;
  }
  Context cpu({.threads = 1});
  const Tensor a = got.To(cpu, DType::kF32), b = expected.To(cpu, DType::kF32);
  for (int64_t i = 0; i < a.numel(); ++i) {
    const float x = a.data<float>()[i], y = b.data<float>()[i];
    ASSERT_NEAR(x, y, 2e-5f * std::abs(y) + 5e-6f) << what << ", element " << i;
  }
}

bool SplitsRows(const ShardingPlan& plan) {
  for (const auto& [name, sharding] : plan.tables)
    for (const Shard& s : sharding.shards)
      for (const TestTable& t : Tables())
        if (t.name == name && s.rows != t.rows) return true;
  return false;
}

class ShardedTablesTest : public testing::DeviceTest {
 protected:
  void Compare(const Combination& c) {
    SCOPED_TRACE(c.Name());
    const ShardingPlan plan = PlanOf(c);
    std::mt19937 random(static_cast<unsigned>(c.type * 1000 + c.world * 10 + c.rule));
    std::vector<std::vector<RankBatch>> batches(kSteps);
    std::vector<std::vector<std::vector<Tensor>>> grads(kSteps);
    Result expected;
    Whole whole(ctx(), c, plan);
    for (int s = 0; s < kSteps; ++s) {
      const auto i = static_cast<size_t>(s);
      for (int r = 0; r < c.world; ++r) {
        batches[i].push_back(DrawBatch(random, c));
        grads[i].push_back(DrawGradients(random, c, batches[i].back()));
      }
      std::vector<Tensor> joined;
      for (size_t o = 0; o < grads[i][0].size(); ++o) {
        std::vector<Tensor> parts;
        for (const auto& of_rank : grads[i]) parts.push_back(of_rank[o]);
        joined.push_back(OnHostRows(parts));
      }
      whole.Step(batches[i], joined, expected);
    }
    whole.Store(expected);
    Collected collected(c);
    RunLocalRanks(c.world, [&](Communicator& comm) {
      Context own({.device = device(), .threads = 1, .seed = 7});
      RunRank(own, comm, c, plan, batches, grads, collected);
      own.Sync();
    });
    const Result got = collected.Take(batches);
    const bool split = SplitsRows(plan);
    for (size_t s = 0; s < kSteps; ++s) {
      ASSERT_EQ(got.outputs[s].size(), expected.outputs[s].size());
      for (size_t o = 0; o < got.outputs[s].size(); ++o)
        ExpectSame(got.outputs[s][o], expected.outputs[s][o],
                   !split || c.pooling == PoolingType::kNone, Format("output {} of step {}", o, s));
      if (c.weighted)
        ExpectSame(got.weight_grads[s], expected.weight_grads[s], false, "gradients of weights");
    }
    // Where a MEAN is split over rows, 1/L meets the gradient before the weight does.
    const bool exact = !(split && c.weighted && c.pooling == PoolingType::kMean);
    ASSERT_EQ(got.tables.size(), expected.tables.size());
    for (const auto& [name, tensor] : expected.tables)
      ExpectSame(got.tables.at(name), tensor, exact, name);
  }
};

TEST_P(ShardedTablesTest, EqualsOneTable) {
  const bool all = on_cpu() || std::getenv("TESSERA_TEST_ALL") != nullptr;
  std::mt19937 chance(11);
  int tried = 0, left_out = 0;
  for (const int world : {1, 2, 3, 4, 8})
    for (int type = 0; type <= kMixed; ++type)
      for (int rule = 0; rule < 3; ++rule)
        for (const PoolingType pooling :
             {PoolingType::kSum, PoolingType::kMean, PoolingType::kNone})
          for (const bool weighted : {false, true})
            for (const bool variable : {false, true}) {
              if (pooling == PoolingType::kNone && (weighted || variable)) continue;
              if (!all && chance() % 20 != 0) {
                ++left_out;
                continue;
              }
              ASSERT_NO_FATAL_FAILURE(Compare({type, pooling, weighted, variable, rule, world}));
              ++tried;
            }
  std::printf("%d combinations tried, %d left out (tools/test --all tries them)\n", tried,
              left_out);
}

TEST_P(ShardedTablesTest, CodecsChangeWhatTravelsAndNothingElse) {
  // bf16 halves the bytes; what a rank gets is the rows rounded, and what tables see the gradients.
  const Combination c{.type = static_cast<int>(ShardingType::kTableWise), .world = 2};
  std::vector<BaseEmbeddingConfig> configs;
  for (const TestTable& t : Tables()) configs.push_back(ConfigOf(c, t));
  const std::vector<PoolingType> poolings(configs.size(), PoolingType::kSum);
  std::mt19937 random(3);
  std::vector<RankBatch> batches;
  std::vector<std::vector<Tensor>> grads;
  for (int r = 0; r < 2; ++r) {
    batches.push_back(DrawBatch(random, c));
    batches.back().examples = 0;
    while (batches.back().examples == 0) batches.back() = DrawBatch(random, c);
    grads.push_back(DrawGradients(random, c, batches.back()));
  }
  for (const char* codec : {"fp32", "fp16*8", "bf16", "fp8_rows", "int8", "mx4"}) {
    SCOPED_TRACE(codec);
    RunLocalRanks(c.world, [&](Communicator& comm) {
      Context own({.device = device(), .threads = 1, .seed = 9});
      const auto rank = static_cast<size_t>(comm.rank());
      Context same({.device = device(), .threads = 1, .seed = 9});
      ShardedTables plain(same, comm, configs, poolings, Features(), PlanOf(c));
      same.Sync();  // before another stream reads the rows
      ShardedTables tables(own, comm, configs, poolings, Features(), PlanOf(c),
                           {.codecs = ParseWireCodecs(codec)});
      const KeyedJaggedTensor kjt = KjtOf(own, c, batches, rank, rank + 1);
      const int64_t sent = comm.bytes_sent();
      const Tensor exact = plain.Forward(own, kjt)[0].value().ToHost();
      const int64_t whole = comm.bytes_sent() - sent;
      Tape tape(own);
      const std::vector<Variable> out = tables.Forward(own, kjt);
      const int64_t coded = comm.bytes_sent() - sent - whole;
      if (std::string(codec) == "fp32")
        EXPECT_EQ(coded, whole);
      else
        EXPECT_LT(coded, whole);
      const Tensor got = out[0].value().ToHost();
      float largest = 0;
      for (const float x : exact.span<float>()) largest = std::max(largest, std::abs(x));
      for (int64_t i = 0; i < got.numel(); ++i)
        ASSERT_NEAR(got.data<float>()[i], exact.data<float>()[i], 0.3f * largest);
      EXPECT_EQ(SameBits(got, exact), std::string(codec) == "fp32");
      BackwardAll(own, tape, out, grads[rank]);
      own.Sync();
    });
  }
}

TEST_P(ShardedTablesTest, DifferentPlansAreNamed) {
  std::vector<BaseEmbeddingConfig> configs;
  for (const TestTable& t : Tables()) configs.push_back(ConfigOf({}, t));
  try {
    RunLocalRanks(2, [&](Communicator& comm) {
      Context own({.device = device(), .threads = 1});
      const Combination c{.type = comm.rank() == 0 ? 1 : 3, .world = 2};
      ShardedTables tables(own, comm, configs,
                           std::vector<PoolingType>(configs.size(), PoolingType::kSum), Features(),
                           PlanOf(c));
    });
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("sharding plan"), std::string::npos) << error.what();
  }
}

TEST_P(ShardedTablesTest, RoundsByChanceAsOneTable) {
  for (const ShardingType type : {ShardingType::kRowWise, ShardingType::kColumnWise,
                                  ShardingType::kGridShard, ShardingType::kDataParallel}) {
    Combination c{.type = static_cast<int>(type), .rule = 2, .world = 4};
    c.row_type = DType::kBF16;
    ASSERT_NO_FATAL_FAILURE(Compare(c));
  }
}

TEST_P(ShardedTablesTest, StartsAsOneTable) {
  for (int type = 0; type < kTypes; ++type) {
    const Combination c{.type = type, .world = 4};
    std::vector<BaseEmbeddingConfig> configs;
    for (const TestTable& t : Tables()) configs.push_back(ConfigOf(c, t));
    configs[1].init_fn = [](Context& ctx, const Tensor& rows) { FillUniform(ctx, rows, 3, 4); };
    const std::vector<PoolingType> poolings(configs.size(), PoolingType::kSum);
    Context one({.device = device(), .seed = 9});
    const TableBatchedEmbedding whole(one, configs, poolings, Features());
    RunLocalRanks(c.world, [&](Communicator& comm) {
      Context own({.device = device(), .threads = 1, .seed = 9});
      const ShardedTables tables(own, comm, configs, poolings, Features(), PlanOf(c));
      for (const HeldShard& held : tables.shards())
        for (int t = 0; t < whole.num_tables(); ++t)
          if (whole.table_name(t) == held.table) {
            const Shard& s = held.shard;
            const Tensor part = whole.weight(t)
                                    .ToHost()
                                    .Rows(s.row_offset, s.row_offset + s.rows)
                                    .Narrow(1, s.column_offset, s.columns);
            Context cpu({.threads = 1});
            EXPECT_TRUE(SameBits(held.tables->weight(held.index).ToHost(), part.Contiguous(cpu)))
                << held.table << " " << ToString(s);
          }
    });
  }
}

TEST_P(ShardedTablesTest, BadIdIsNamedAndEveryRankEnds) {
  const Combination c{.type = static_cast<int>(ShardingType::kRowWise), .world = 3};
  std::vector<BaseEmbeddingConfig> configs;
  for (const TestTable& t : Tables()) configs.push_back(ConfigOf(c, t));
  try {
    RunLocalRanks(c.world, [&](Communicator& comm) {
      Context own({.device = device(), .threads = 1});
      ShardedTables tables(own, comm, configs,
                           std::vector<PoolingType>(configs.size(), PoolingType::kSum), Features(),
                           PlanOf(c));
      std::mt19937 random(1);
      RankBatch batch = DrawBatch(random, c);
      batch.examples = 1;
      for (auto& [key, bags] : batch.keys) {
        bags.bags = {{0}};
        bags.weights = {{1}};
      }
      if (comm.rank() == 1) batch.keys["c"].bags = {{77}};
      tables.Forward(own, KjtOf(own, c, {batch}, 0, 1));
    });
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("rank 1"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("77"), std::string::npos) << error.what();
  }
}

TESSERA_INSTANTIATE_DEVICES(ShardedTablesTest);

}  // namespace
}  // namespace tessera
