#include "tests/crossings/tables_case.h"

#include <algorithm>
#include <numeric>

#include "embedding/lookup/index_remap.h"
#include "embedding/table/row_init.h"
#include "sharding/plan/plan_makers.h"
#include "tests/crossings/rules.h"

namespace tessera::testing {
namespace {

struct SmallTable {
  const char* name;
  int64_t rows, dim;
  std::vector<std::string> keys;
};
// Rows of t0 and t2 are in four parts where they take raw ids.
constexpr int64_t kParts = 4, kItepIds = 60;

std::vector<SmallTable> SmallTables(bool shared_key) {
  return {{"t0", 16, 8, {"a"}},
          {"t1", 5, 12, {"b", "c"}},
          {"t2", 32, 6,
           shared_key ? std::vector<std::string>{"a", "d"} : std::vector<std::string>{"d"}}};
}
const std::vector<std::string>& Keys() {  // of every batch, in its order
  static const std::vector<std::string> keys = {"d", "a", "unused", "b", "c"};
  return keys;
}

unsigned Mixed(int step, int rank) { return static_cast<unsigned>(step * 131 + rank * 17 + 5); }

DType TypeOf(const std::string& name) {
  return name.starts_with("f16")    ? DType::kF16
         : name.starts_with("bf16") ? DType::kBF16
                                    : DType::kF32;
}

ManagedCollisionConfig ModuleOf(const std::string& ids) {
  if (ids == "growing") return GrowingIndexOptions{.score = MchEviction::kLfu, .admit_after = 2};
  if (ids == "mch") return MchConfig{.eviction = MchEviction::kLru, .eviction_interval = 2};
  return HashZchOptions{.max_probe = 4,
                        .eviction = HashZchEviction::kSingleTtl,
                        .single_ttl = 1,
                        .clock = HashZchClock::kForwards};
}

std::vector<float> Floats(std::mt19937& random, int64_t n) {
  std::vector<float> values;
  for (int64_t i = 0; i < n; ++i)
    values.push_back(static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 1024);
  return values;
}

// Multiples of 1/8, whose sums have no rounding: their order does not matter.
std::vector<float> Eighths(std::mt19937& random, int64_t n) {
  std::vector<float> values;
  for (int64_t i = 0; i < n; ++i)
    values.push_back(static_cast<float>(static_cast<int>(random() % 11) - 5) / 8);
  return values;
}

// A 64-bit number for each id.
int64_t RawIdOf(int64_t id) {
  return static_cast<int64_t>(static_cast<uint64_t>(id) * 0x9E3779B97F4A7C15 - 77);
}

class GivenGradients final : public Function {
 public:
  explicit GivenGradients(std::vector<Tensor> gradients) : gradients_(std::move(gradients)) {}
  std::string_view name() const override { return "given gradients"; }
  std::vector<Tensor> Backward(Context&, const std::vector<Tensor>&) override { return gradients_; }

 private:
  std::vector<Tensor> gradients_;
};

TableSharding RowBlocks(ShardingType type, const SmallTable& t, int first_rank, int ranks,
                        int64_t column, int64_t columns) {
  TableSharding s;
  s.type = type;
  const int64_t block = (t.rows + ranks - 1) / ranks;
  for (int r = 0; r < ranks; ++r) {
    const int64_t begin = std::min(r * block, t.rows), end = std::min(begin + block, t.rows);
    s.shards.push_back({first_rank + r, begin, column, end - begin, columns});
  }
  return s;
}

struct Ranks {
  int world, local, table;
  int home() const { return table % world; }
  int node() const { return table % (world / local); }
};

// A sharding whose blocks of columns are uneven.
TableSharding ShardingOf(ShardingType type, const SmallTable& t, const Ranks& on) {
  const int64_t left = t.dim / 2 - 1, right = t.dim - left;
  const int first = on.node() * on.local, next = (on.home() + 1) % on.world;
  TableSharding s;
  s.type = type;
  switch (type) {
    case ShardingType::kDataParallel:
      for (int r = 0; r < on.world; ++r) s.shards.push_back({r, 0, 0, t.rows, t.dim});
      break;
    case ShardingType::kTableWise:
      s.shards = {{on.home(), 0, 0, t.rows, t.dim}};
      break;
    case ShardingType::kColumnWise:
      s.shards = {{on.home(), 0, 0, t.rows, left}, {next, 0, left, t.rows, right}};
      break;
    case ShardingType::kRowWise:
      return RowBlocks(type, t, 0, on.world, 0, t.dim);
    case ShardingType::kTableRowWise:
      return RowBlocks(type, t, first, on.local, 0, t.dim);
    case ShardingType::kTableColumnWise:
      s.shards = {{first, 0, 0, t.rows, left}, {first + on.local - 1, 0, left, t.rows, right}};
      break;
    case ShardingType::kGridShard: {
      const int other = (on.node() + 1) % (on.world / on.local) * on.local;
      s = RowBlocks(type, t, first, on.local, 0, left);
      for (const Shard& shard : RowBlocks(type, t, other, on.local, left, right).shards)
        s.shards.push_back(shard);
      break;
    }
  }
  return s;
}

// Another type that keeps the blocks of columns, if there are any.
ShardingType OtherType(ShardingType type) {
  switch (type) {
    case ShardingType::kTableWise:
      return ShardingType::kRowWise;
    case ShardingType::kRowWise:
      return ShardingType::kTableRowWise;
    case ShardingType::kTableRowWise:
      return ShardingType::kTableWise;
    case ShardingType::kColumnWise:
      return ShardingType::kTableColumnWise;
    case ShardingType::kTableColumnWise:
    case ShardingType::kGridShard:
      return ShardingType::kColumnWise;
    case ShardingType::kDataParallel:
      return ShardingType::kRowWise;
  }
  return type;
}

}  // namespace

const std::vector<Axis>& TablesAxes() {
  static const std::vector<Axis> axes = {
      {"rule", RuleNames()},
      {"rows", {"f32", "f16", "bf16", "f16_by_chance", "bf16_by_chance"}},
      {"state", {"f32", "f16", "bf16"}},
      {"pooling", {"SUM", "MEAN", "NONE"}},
      {"batch", {"plain", "weighted", "learned_weights", "variable", "empty", "one"}},
      {"keys", {"own", "shared"}},
      {"bounds", {"FATAL", "WARNING", "IGNORE", "NONE"}},
      {"output", {"f32", "f16", "bf16"}},
      {"start", {"range", "init_fn"}},
      {"location", {"DEVICE", "HOST", "MANAGED", "MANAGED_CACHING", "DISK"}},
      {"ids", {"rows", "growing", "mch", "hash_zch", "itep"}},
      {"remap", {"none", "array", "hash"}},
      {"sharding",
       {"none", "data_parallel", "table_wise", "column_wise", "row_wise", "table_row_wise",
        "table_column_wise", "grid_shard", "mixed"}},
      {"ranks", {"1", "2", "4"}},
      {"codec", {"fp32", "bf16", "int8"}},
      {"dedup", {"none", "rank", "node"}},
      {"pipeline", {"none", "base", "sparse_dist", "prefetch", "semi_sync"}},
      {"control", {"none", "clamped", "frozen", "rates"}},
      {"accumulation", {"none", "3"}},
      {"checkpoint", {"none", "same", "resharded"}},
      {"after", {"nothing", "quantized"}}};
  return axes;
}

PoolingType TablesCase::pooling() const {
  if (point_.Is("pooling", "NONE")) return PoolingType::kNone;
  return point_.Is("pooling", "MEAN") ? PoolingType::kMean : PoolingType::kSum;
}

std::vector<BaseEmbeddingConfig> TablesCase::Tables(Context& ctx) const {
  std::vector<BaseEmbeddingConfig> tables;
  for (const SmallTable& t : SmallTables(point_.Is("keys", "shared"))) {
    BaseEmbeddingConfig config;
    config.name = t.name;
    config.num_embeddings = t.rows;
    config.embedding_dim = t.dim;
    config.feature_names = t.keys;
    config.optimizer = RuleNamed(point_["rule"]);
    config.data_type = TypeOf(point_["rows"]);
    config.state_type = TypeOf(point_["state"]);
    config.stochastic_rounding = point_["rows"].ends_with("by_chance");
    config.init_range = {-1.0f, 1.0f};
    // A row that is handed on starts by random numbers of the shard that has it.
    if (point_.Is("ids", "itep")) config.init_range = {0.25f, 0.25f};
    if (point_.Is("start", "init_fn")) config.init_fn = ConstantRows(0.25f);
    config.location = ParseEmbeddingLocation(point_["location"]);
    config.cache = {.ways = 2, .load_factor = 0.3};
    if (t.name == std::string("t1")) config.bounds_check = bounds();
    const bool managed = Managed().contains(t.name);
    config.growing = managed && point_.Is("ids", "growing") && !sharded();
    if (!point_.Is("remap", "none") && t.name != std::string("t1")) {
      std::vector<RemapEntry> kept;
      for (int64_t row = 0; row < t.rows; ++row) kept.push_back({2 * row, row});
      config.index_remap = std::make_shared<IndexRemap>(
          ctx, point_.Is("remap", "hash") ? RemapKind::kHash : RemapKind::kArray, kept, 2 * t.rows,
          t.rows);
    }
    tables.push_back(config);
  }
  return tables;
}

ManagedTableConfigs TablesCase::Managed() const {
  if (!raw_ids()) return {};
  const ManagedTableConfig config{ModuleOf(point_["ids"]), sharded() ? kParts : 0};
  return {{"t0", config}, {"t2", config}};
}

std::optional<ItepOptions> TablesCase::Itep() const {
  if (!point_.Is("ids", "itep")) return {};
  return ItepOptions{.table_name_to_unpruned_hash_sizes = {{"t0", kItepIds}, {"t2", kItepIds}},
                     .pruning_interval = 2};
}

ShardingPlan TablesCase::Plan(bool after_checkpoint) const {
  ShardingPlan plan;
  plan.world_size = ranks();
  plan.local_size = ranks() == 4 ? 2 : ranks();
  const std::vector<SmallTable> tables = SmallTables(point_.Is("keys", "shared"));
  for (size_t t = 0; t < tables.size(); ++t) {
    const Ranks on{plan.world_size, plan.local_size, static_cast<int>(t)};
    static constexpr ShardingType kMixed[] = {ShardingType::kRowWise, ShardingType::kColumnWise,
                                              ShardingType::kTableRowWise};
    ShardingType type =
        point_.Is("sharding", "mixed") ? kMixed[t] : ParseShardingType(point_["sharding"]);
    if (after_checkpoint && point_.Is("checkpoint", "resharded")) type = OtherType(type);
    plan.tables[tables[t].name] = ShardingOf(type, tables[t], on);
  }
  return plan;
}

// The bound of the ids of a key: all tables that read it have rows for them.
int64_t TablesCase::IdBelow(const std::string& key) const {
  int64_t rows = 1000;
  for (const SmallTable& t : SmallTables(point_.Is("keys", "shared")))
    if (std::find(t.keys.begin(), t.keys.end(), key) != t.keys.end()) {
      const bool t1 = t.name == std::string("t1");
      rows = std::min(rows, !t1 && !point_.Is("remap", "none") ? 2 * t.rows : t.rows);
      if (!t1 && !point_.Is("ids", "rows")) rows = kItepIds;
      if (t1 && !point_.Is("bounds", "FATAL")) rows += 2;  // that name no row
    }
  return rows;
}

RankBatch TablesCase::OfPart(int step, int part) const {
  std::mt19937 random(Mixed(step, part));
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
  const bool variable = point_.Is("batch", "variable");
  RankBatch batch;
  batch.examples = point_.Is("batch", "one") ? 1 : 1 + (step * 3 + part * 2) % 5;
  for (const std::string& key : Keys()) {
    KeyBags& k = batch.keys[key];
    const int64_t bags = variable ? 1 + below(3) : batch.examples;
    for (int64_t b = 0; b < bags; ++b) {
      k.bags.emplace_back();
      k.weights.emplace_back();
      for (int64_t n = point_.Is("batch", "empty") ? 0 : below(5); n > 0; --n) {
        int64_t id = below(IdBelow(key));
        if (raw_ids() && (key == "a" || key == "d")) id = RawIdOf(id / (1 + below(3)));
        k.bags.back().push_back(id);
        k.weights.back().push_back(Floats(random, 1)[0]);
      }
    }
    for (int64_t e = 0; e < batch.examples; ++e) k.inverse.push_back(below(bags));
  }
  return batch;
}

KeyedJaggedTensor TablesCase::Batch(Context& ctx, int step, int first, int end) const {
  std::vector<RankBatch> batches;
  for (int p = first; p < end; ++p) batches.push_back(OfPart(step, p));
  return JoinedBatches(ctx, Keys(), batches,
                       {.weighted = weighted(),
                        .weights_need_grad = point_.Is("batch", "learned_weights"),
                        .variable = point_.Is("batch", "variable")});
}

std::vector<Tensor> TablesCase::Gradients(Context& ctx, int step, int first, int end,
                                          float scale) const {
  const bool exact = point_.Is("dedup", "rank|node");
  std::vector<std::vector<float>> values;  // an output each
  std::vector<int64_t> widths;
  for (const SmallTable& t : SmallTables(point_.Is("keys", "shared")))
    for (size_t k = 0; k < t.keys.size(); ++k) widths.push_back(t.dim);
  if (pooled()) widths = {std::accumulate(widths.begin(), widths.end(), int64_t{0})};
  values.resize(widths.size());
  for (int p = first; p < end; ++p) {
    const RankBatch batch = OfPart(step, p);
    size_t output = 0;
    for (const SmallTable& t : SmallTables(point_.Is("keys", "shared")))
      for (const std::string& key : t.keys) {
        int64_t n = batch.examples;
        if (!pooled()) {
          n = 0;
          for (const auto& bag : batch.keys.at(key).bags) n += static_cast<int64_t>(bag.size());
        }
        if (pooled() && output > 0) continue;
        std::mt19937 random(Mixed(step, p) + 1000 * static_cast<unsigned>(output));
        const int64_t count = n * widths[output];
        for (const float x : exact ? Eighths(random, count) : Floats(random, count))
          values[output].push_back(scale * x);
        ++output;
      }
  }
  std::vector<Tensor> gradients;
  for (size_t o = 0; o < values.size(); ++o)
    gradients.push_back(
        Tensor::From(ctx, {static_cast<int64_t>(values[o].size()) / widths[o], widths[o]},
                     values[o])
            .To(ctx, TypeOf(point_["output"])));
  return gradients;
}

float TablesCase::LearningRate(int step) const {
  return point_.Is("control", "rates") ? 0.2f / static_cast<float>(2 + step) : 0.1f;
}

std::vector<EmbeddingFeature> FeaturesOf(const std::vector<BaseEmbeddingConfig>& tables) {
  std::vector<EmbeddingFeature> features;
  for (size_t t = 0; t < tables.size(); ++t)
    for (const std::string& key : tables[t].feature_names)
      features.push_back({key + "@" + tables[t].name, static_cast<int>(t), key});
  return features;
}

Variable WithGradients(Context& ctx, const std::vector<Variable>& outputs,
                       const std::vector<Tensor>& gradients) {
  return Record(ctx, std::make_unique<GivenGradients>(gradients), outputs,
                Tensor::Full(ctx, {1}, 0));
}

}  // namespace tessera::testing
