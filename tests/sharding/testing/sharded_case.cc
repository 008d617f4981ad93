#include "tests/sharding/testing/sharded_case.h"

#include <algorithm>
#include <numeric>

#include "runtime/ops/arithmetic.h"

namespace tessera::testing {

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

namespace {

const int kLocalSize[] = {0, 1, 2, 3, 2, 0, 0, 0, 4};  // by world size

AnyRule RuleOf(int rule) {
  if (rule == 0) return Sgd{.lr = 0.1f};
  if (rule == 1) return RowwiseAdagrad{.lr = 0.1f, .eps = 1e-4f};
  if (rule == kCounterRule) {
    CounterRowwiseAdagrad counter{.lr = 0.1f, .eps = 1e-4f};
    counter.learning_rate_mode = CounterRateMode::kTailIdLrIncrease;
    counter.max_counter_update_freq = 1;
    return counter;
  }
  return Adam{.lr = 0.1f, .eps = 1e-4f};
}

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

// A sharding whose blocks of columns are uneven.
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

int64_t RowsOf(const std::string& key) {
  int64_t rows = 1000;
  for (const TestTable& t : Tables())
    if (std::find(t.keys.begin(), t.keys.end(), key) != t.keys.end()) rows = std::min(rows, t.rows);
  return rows;
}

}  // namespace

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

KeyedJaggedTensor KjtOf(Context& ctx, const Combination& c, const std::vector<RankBatch>& batches,
                        size_t first, size_t end) {
  return JoinedBatches(ctx, Keys(), std::span(batches).subspan(first, end - first),
                       {.weighted = c.weighted, .variable = c.variable});
}

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

}  // namespace tessera::testing
