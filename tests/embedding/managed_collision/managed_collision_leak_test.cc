// Every module in front of a table: no id reads what another learned, and what is saved goes on.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>

#include "embedding/managed_collision/growing_managed_collision_module.h"
#include "embedding/managed_collision/hash_zch_managed_collision_module.h"
#include "tests/embedding/managed_collision/managed_tables.h"
#include "tests/embedding/managed_collision/raw_ids.h"
#include "tests/testing/devices.h"
#include "train/checkpoint/checkpoint.h"

namespace tessera {
namespace {

using testing::Bags;
using testing::Collection;
using testing::OneTable;
using testing::RawIds;
using testing::Table;
using testing::TrainOn;

struct Kind {
  std::string name;
  std::function<std::shared_ptr<ManagedCollisionModule>(Context&)> make;
  int64_t miss;          // the row of ids without one, or −1
  bool growing = false;  // the table
  Device device = Device::Cpu();
  std::string Name() const { return name + (device == Device::Cpu() ? "" : "_Cuda"); }

  ManagedCollisionEmbeddingBagCollection Tables(Context& ctx) const {
    return OneTable(ctx, make(ctx), false, growing);
  }
};

std::vector<Kind> Kinds() {
  std::vector<Kind> kinds;
  for (const MchEviction eviction :
       {MchEviction::kLfu, MchEviction::kLru, MchEviction::kDistanceLfu})
    kinds.push_back(
        {ToString(eviction),
         [eviction](Context&) {
           return std::make_shared<MCHManagedCollisionModule>(MchOptions{
               .zch_size = 9, .eviction_policy = {.eviction = eviction}, .eviction_interval = 2});
         },
         8});
  for (const HashZchEviction eviction : {HashZchEviction::kSingleTtl, HashZchEviction::kLru})
    kinds.push_back({ToString(eviction),
                     [eviction](Context& ctx) {
                       return std::make_shared<HashZchManagedCollisionModule>(
                           ctx, HashZchOptions{.zch_size = 9,
                                               .max_probe = 5,
                                               .eviction = eviction,
                                               .single_ttl = 2,
                                               .clock = HashZchClock::kForwards,
                                               .disable_fallback = true});
                     },
                     -1});
  const auto index = [](Context&) {
    return std::make_shared<GrowingManagedCollisionModule>(
        GrowingIndexOptions{.max_rows = 8, .admit_after = 2});
  };
  kinds.push_back({"GROWING_INDEX", index, 0});
  kinds.push_back({"GROWING_TABLE", index, 0, true});
  const std::vector<Kind> on_cpu = kinds;
  for (const Device device : testing::AllDevices())
    for (Kind kind : on_cpu)
      if (device != Device::Cpu()) {
        kind.device = device;
        kinds.push_back(kind);
      }
  return kinds;
}

class LeakTest : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    if (on_gpu() && CudaDeviceCount() == 0)
      GTEST_SKIP() << "SKIPPED: this machine has no GPU; --config=emulated runs this without one";
  }
  static bool on_gpu() { return GetParam().device.type == DeviceType::kCuda; }
  static ContextOptions Options() { return {.device = GetParam().device, .threads = 1, .seed = 2}; }
};

// A row that an id reads holds what this id learned, or nothing: another may have had it since, and
// lost it. With gradients of 1, SGD of rate 1 and rows that start at 0, an id has learned minus the
// number of times it was named.
TEST_P(LeakTest, NoIdReadsWhatAnotherLearned) {
  Context ctx(Options());
  std::vector<EmbeddingBagConfig> configs = {Table<EmbeddingBagConfig>("t", 9, {"a"})};
  configs[0].init_fn = ConstantRows(0);
  configs[0].optimizer = Sgd{1.0f};
  configs[0].growing = GetParam().growing;
  ManagedCollisionEmbeddingBagCollection mc(std::make_unique<EmbeddingBagCollection>(ctx, configs),
                                            Collection({{"t", GetParam().make(ctx)}}, configs),
                                            true);
  std::map<int64_t, int64_t> owner;  // of a row
  std::map<int64_t, float> learned;  // by a row's owner
  const int64_t miss = GetParam().miss;
  RawIds random(4);
  int64_t changes = 0, kept = 0;
  for (int step = 0; step < (on_gpu() ? 120 : 500); ++step) {
    const std::vector<int64_t> ids = random.Batch(1, 6, step / 20)[0];
    const KeyedJaggedTensor kjt = Bags(ctx, {"a"}, ids, std::vector<int64_t>(ids.size(), 1));
    Tape tape(ctx);
    auto out = mc.Forward(ctx, kjt);
    const auto rows = out.remapped_features->values().ToVector<int64_t>();
    const auto values = out.embeddings.values().value().ToVector<float>();
    for (size_t i = 0; i < ids.size(); ++i) {
      if (rows[i] == miss) continue;
      const auto [it, first] = owner.emplace(rows[i], ids[i]);
      if (!first && it->second != ids[i]) {
        it->second = ids[i];
        learned[rows[i]] = 0;
        ++changes;
      }
      if (values[2 * i] == 0) learned[rows[i]] = 0;
      ASSERT_EQ(values[2 * i], learned[rows[i]]) << step << " id " << ids[i];
      kept += values[2 * i] != 0;
    }
    tape.Backward(Sum(ctx, out.embeddings.values()));
    for (const int64_t row : rows)
      if (row != miss) learned[row] -= 1;
  }
  EXPECT_GT(changes, 0);
  EXPECT_GT(kept, on_gpu() ? 5 : 50);
}

TEST_P(LeakTest, ResumedTrainingHasTheSameBits) {
  Context a(Options()), b(Options());
  auto whole = GetParam().Tables(a), first = GetParam().Tables(b);
  std::optional<ManagedCollisionEmbeddingBagCollection> second;
  const int steps = on_gpu() ? 25 : 101;
  RawIds random(6);
  for (int step = 0; step < steps; ++step) {
    const std::vector<int64_t> ids = random.Batch(1, 6, step / 5)[0];
    const std::vector<int64_t> lengths(ids.size(), 1);
    TrainOn(a, whole, Bags(a, {"a"}, ids, lengths));
    TrainOn(b, second ? *second : first, Bags(b, {"a"}, ids, lengths));
    if (step != steps / 2) continue;
    second = GetParam().Tables(b);
    second->managed_collision_collection().LoadStateDict(
        b, first.managed_collision_collection().StateDict(b, "_mcc."), "_mcc.");
    TableBatchedEmbedding &from = first.embedding_bag_collection().tables(),
                          &to = second->embedding_bag_collection().tables();
    if (GetParam().growing) to.rows().SetInUse(b, 0, from.rows().in_use(0));
    to.weight(0).CopyFrom(b, from.weight(0));
    to.optimizer_states(0)[0].tensor.CopyFrom(b, from.optimizer_states(0)[0].tensor);
    to.set_iter(from.iter());
  }
  TableBatchedEmbedding &one = whole.embedding_bag_collection().tables(),
                        &two = second->embedding_bag_collection().tables();
  EXPECT_TRUE(SameBits(one.weight(0), two.weight(0)));
  EXPECT_TRUE(SameBits(one.optimizer_states(0)[0].tensor, two.optimizer_states(0)[0].tensor));
  const auto x = whole.managed_collision_collection().StateDict(a),
             y = second->managed_collision_collection().StateDict(b);
  ASSERT_EQ(x.size(), y.size());
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_TRUE(SameBits(x[i].tensor, y[i].tensor)) << x[i].name;
}

TEST_P(LeakTest, StateGoesThroughACheckpointFile) {
  Context ctx(Options());
  auto mc = OneTable(ctx, GetParam().make(ctx)), read = OneTable(ctx, GetParam().make(ctx));
  RawIds random(7);
  for (int step = 0; step < 31; ++step) {
    const std::vector<int64_t> ids = random.Batch(1, 6, step)[0];
    TrainOn(ctx, mc, Bags(ctx, {"a"}, ids, std::vector<int64_t>(ids.size(), 1)));
  }
  const std::string path = ::testing::TempDir() + "/mc_" + GetParam().Name() + ".safetensors";
  const auto state = mc.managed_collision_collection().StateDict(ctx, "mc.");
  WriteCheckpoint(ctx, path, state, {}, "{}");
  const Checkpoint checkpoint = ReadCheckpoint(path);
  std::vector<NamedTensor> tensors;
  for (const CheckpointEntry& entry : checkpoint.tensors)
    tensors.push_back({entry.name, checkpoint.file->Read(ctx, entry.tensor)});
  read.managed_collision_collection().LoadStateDict(ctx, tensors, "mc.");
  const auto again = read.managed_collision_collection().StateDict(ctx, "mc.");
  ASSERT_EQ(again.size(), state.size());
  for (size_t i = 0; i < state.size(); ++i)
    EXPECT_TRUE(SameBits(state[i].tensor, again[i].tensor)) << state[i].name;
}

INSTANTIATE_TEST_SUITE_P(, LeakTest, ::testing::ValuesIn(Kinds()),
                         [](const auto& info) { return info.param.Name(); });

}  // namespace
}  // namespace tessera
