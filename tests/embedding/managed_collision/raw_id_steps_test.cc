// Random steps on a growing table, and on one of hash ZCH, have the CPU's bits on every device,
// whoever looks at the table, the module or neither between them.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "embedding/managed_collision/growing_managed_collision_module.h"
#include "embedding/managed_collision/hash_zch_managed_collision_module.h"
#include "tests/embedding/managed_collision/managed_tables.h"
#include "tests/embedding/managed_collision/raw_ids.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using testing::Bags;
using testing::RawIds;

struct Case {
  std::string name;
  GrowingIndexOptions index = {};
  AnyRule rule = Adam{0.1f};
  DType type = DType::kF32;
  bool init_fn = false, tracked = false;
  int64_t most_ids = 40;
  std::optional<HashZchOptions> zch = {};  // in place of the index
  EmbeddingLocation location = EmbeddingLocation::kDevice;
};

class Training {
 public:
  Training(Device device, const Case& c)
      : case_(c), ctx_({.device = device, .threads = 1, .seed = 5}), random_(11), mc_(Make()) {
    if (c.tracked) table().rows().Track(ctx_, 0);
  }

  // Returns what was looked up, and the table and its module in the end, all on the host.
  std::vector<Tensor> Results(int steps) {
    for (int step = 0; step < steps; ++step) Step(step);
    Note(Tensor::From<int64_t>(ctx_, {module().num_evicted()}));
    LookAtModule();
    LookAtTable();
    std::vector<Tensor> on_host;
    for (const Tensor& t : seen_) on_host.push_back(t.ToHost());
    return on_host;
  }

 private:
  ManagedCollisionEmbeddingBagCollection Make() {
    std::shared_ptr<ManagedCollisionModule> module;
    if (case_.zch)
      module = std::make_shared<HashZchManagedCollisionModule>(ctx_, *case_.zch);
    else
      module = std::make_shared<GrowingManagedCollisionModule>(case_.index);
    EmbeddingBagConfig config;
    config.name = "t";
    config.num_embeddings = module->output_size();
    config.embedding_dim = 6;
    config.feature_names = {"a", "b"};
    config.optimizer = case_.rule;
    config.growing = !case_.zch;
    config.location = case_.location;
    config.data_type = case_.type;
    config.stochastic_rounding = case_.type != DType::kF32;
    if (case_.init_fn) config.init_fn = NormalRows(0, 1);
    const std::vector<EmbeddingBagConfig> configs = {config};
    return {std::make_unique<EmbeddingBagCollection>(ctx_, configs),
            testing::Collection({{"t", module}}, configs)};
  }
  TableBatchedEmbedding& table() { return mc_->embedding_bag_collection().tables(); }
  ManagedCollisionModule& module() { return mc_->managed_collision_collection().module("t"); }
  void Note(const Tensor& seen) { seen_.push_back(seen); }

  KeyedJaggedTensor Batch(int step) {
    std::vector<std::vector<int64_t>> ids = random_.Batch(2, case_.most_ids, step / 4);
    const std::vector<int64_t> lengths = {std::ssize(ids[0]), std::ssize(ids[1])};
    ids[0].insert(ids[0].end(), ids[1].begin(), ids[1].end());
    return Bags(ctx_, {"a", "b"}, ids[0], lengths);
  }
  void Step(int step) {
    const KeyedJaggedTensor kjt = Batch(step);
    const int64_t what = random_.Below(20);
    if (what < 13) return Train(kjt);
    if (what < 15) return Note(mc_->Forward(ctx_, kjt).embeddings.values().value());
    if (what == 15) return LookAtTable();
    if (what == 16) return LookAtModule();
    if (what == 17) return Note(Tensor::From<int64_t>(ctx_, {module().num_evicted()}));
    if (what == 18) return Resume();
    // The table hears of these rows in the next forward.
    Tape tape(ctx_);
    for (int64_t k = random_.Below(6); k-- > 0;)
      Note(mc_->managed_collision_collection().Forward(ctx_, Batch(step)).values());
  }
  void Train(const KeyedJaggedTensor& kjt) {
    Tape tape(ctx_);
    const Variable pooled = mc_->Forward(ctx_, kjt).embeddings.values();
    Note(pooled.value());
    tape.Backward(Sum(ctx_, Mul(ctx_, pooled, pooled)));
  }
  void LookAtTable() {
    table().caches().Flush(ctx_);
    Note(Tensor::From<int64_t>(ctx_, {table().rows().in_use(0)}));
    Note(table().weight(0).Clone(ctx_));
    for (const OptimizerState& state : table().optimizer_states(0)) Note(state.tensor.Clone(ctx_));
  }
  void LookAtModule() {
    for (const NamedTensor& t : module().StateDict(ctx_)) {
      if (t.name != "_evicted_indices") Note(t.tensor);
    }
  }
  void Resume() {
    ManagedCollisionEmbeddingBagCollection resumed = Make();
    TableBatchedEmbedding& to = resumed.embedding_bag_collection().tables();
    resumed.managed_collision_collection().module("t").LoadStateDict(ctx_,
                                                                     module().StateDict(ctx_));
    if (!case_.zch) to.rows().SetInUse(ctx_, 0, table().rows().in_use(0));
    table().caches().Flush(ctx_);
    to.weight(0).CopyFrom(ctx_, table().weight(0));
    const auto from = table().optimizer_states(0), states = to.optimizer_states(0);
    for (size_t s = 0; s < from.size(); ++s) states[s].tensor.CopyFrom(ctx_, from[s].tensor);
    to.caches().Reset(ctx_);
    to.set_iter(table().iter());
    mc_.emplace(std::move(resumed));
    if (case_.tracked) table().rows().Track(ctx_, 0);
  }

  Case case_;
  Context ctx_;
  RawIds random_;
  std::optional<ManagedCollisionEmbeddingBagCollection> mc_;
  std::vector<Tensor> seen_;
};

class RawIdStepsTest : public testing::DeviceTest {};
TESSERA_INSTANTIATE_DEVICES(RawIdStepsTest);

void ExpectTheCpusBits(Device device, const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    const std::vector<Tensor> expected = Training(Device::Cpu(), c).Results(80),
                              results = Training(device, c).Results(80);
    ASSERT_EQ(results.size(), expected.size()) << c.name;
    for (size_t i = 0; i < results.size(); ++i)
      ASSERT_TRUE(SameBits(results[i], expected[i])) << c.name << " " << i;
  }
}

TEST_P(RawIdStepsTest, OfAGrowingTableHaveTheCpusBits) {
  const std::vector<Case> cases = {
      {"free rows", {.max_rows = 3000}},
      {"memory that is mapped", {.max_rows = 3'000'000}},
      {"evictions", {.max_rows = 30, .score = MchEviction::kLfu, .shared_rows = 3}},
      {"one row", {.max_rows = 1}},
      {"batches of more ids than rows",
       {.max_rows = 70},
       Adam{0.1f},
       DType::kF32,
       false,
       false,
       90},
      {"admission", {.max_rows = 60, .admit_after = 2}},
      {"16 bits", {.max_rows = 60}, RowwiseAdagrad{0.1f}, DType::kBF16},
      {"sweeps", {.max_rows = 60}, EmaInPlaceRowwiseAdagrad{}},
      {"function", {.max_rows = 60}, Adam{0.1f}, DType::kF32, true},
      {"tracked", {.max_rows = 60}, Adam{0.1f}, DType::kF32, false, true},
  };
  ExpectTheCpusBits(device(), cases);
}

TEST_P(RawIdStepsTest, OfHashZchHaveTheCpusBits) {
  const auto zch = [](int64_t rows, HashZchEviction eviction, int64_t ttl = 0) {
    return HashZchOptions{.zch_size = rows,
                          .max_probe = 16,
                          .eviction = eviction,
                          .single_ttl = ttl,
                          .clock = HashZchClock::kForwards};
  };
  const HashZchOptions lru = zch(40, HashZchEviction::kLru);
  HashZchOptions of_features = zch(50, HashZchEviction::kPerFeatureTtl);
  of_features.per_feature_ttl = {1, 3};
  of_features.opt_in_prob = 70;
  of_features.percent_reserved_slots = 10;
  const std::vector<Case> cases = {
      {.name = "no policy", .zch = zch(60, HashZchEviction::kNone)},
      {.name = "time to live", .zch = zch(60, HashZchEviction::kSingleTtl, 2)},
      {.name = "of each feature", .zch = of_features},
      {.name = "one row", .zch = zch(1, HashZchEviction::kLru)},
      {.name = "LRU", .zch = lru},
      {.name = "16 bits", .rule = RowwiseAdagrad{0.1f}, .type = DType::kBF16, .zch = lru},
      {.name = "sweeps", .rule = EmaInPlaceRowwiseAdagrad{}, .zch = lru},
      {.name = "function", .init_fn = true, .zch = lru},
      {.name = "tracked", .tracked = true, .zch = lru},
      {.name = "host", .zch = lru, .location = EmbeddingLocation::kHost},
      {.name = "cache", .zch = lru, .location = EmbeddingLocation::kManagedCaching}};
  ExpectTheCpusBits(device(), cases);
}

// A cache, which has the evicted rows named, changes no bit.
TEST_P(RawIdStepsTest, OfHashZchDoNotDependOnWhoNamesTheRows) {
  Case c = {
      .name = "named or not",
      .zch = HashZchOptions{
          .zch_size = 40, .eviction = HashZchEviction::kLru, .clock = HashZchClock::kForwards}};
  const std::vector<Tensor> expected = Training(device(), c).Results(80);
  c.location = EmbeddingLocation::kManagedCaching;
  const std::vector<Tensor> results = Training(device(), c).Results(80);
  ASSERT_EQ(results.size(), expected.size());
  for (size_t i = 0; i < results.size(); ++i) ASSERT_TRUE(SameBits(results[i], expected[i])) << i;
}

}  // namespace
}  // namespace tessera
