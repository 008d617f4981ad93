// State dicts of whole models in memory, wherever their tables lie and under any plan; with and
// without strict names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "comm/local_communicator.h"
#include "models/ranking_model.h"
#include "sharding/plan/plan_makers.h"
#include "tests/testing/devices.h"
#include "tests/testing/error_of.h"
#include "tests/testing/finite_differences.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::RandomTensor;

class WholeStateDictTest : public testing::DeviceTest {
 protected:
  Context Own(uint64_t seed) const {
    return Context({.device = device(), .threads = 1, .seed = seed});
  }
};
TESSERA_INSTANTIATE_DEVICES(WholeStateDictTest);

RankingModelConfig ConfigOf(EmbeddingLocation location = EmbeddingLocation::kDevice,
                            DType rows = DType::kF32) {
  RankingModelConfig config{.tables = {},
                            .net = {.dense_in = 3, .dense_arch = {5, 4}, .over_arch = {6, 1}}};
  for (const char* name : {"a", "b", "c"}) {
    EmbeddingBagConfig& table = config.tables.emplace_back();
    table.name = name;
    table.num_embeddings = 10 + static_cast<int64_t>(config.tables.size());
    table.embedding_dim = 4;
    table.feature_names = {std::string("f_") + name};
    table.optimizer = Sgd{.lr = 0.5f};
    table.location = location;
    table.cache.load_factor = 0.5;
    table.data_type = rows;
  }
  return config;
}

KeyedJaggedTensor Bags(Context& ctx) {
  return KeyedJaggedTensor::FromLengthsSync({"f_a", "f_b", "f_c"},
                                            Tensor::From<int64_t>(ctx, {1, 2, 3, 4, 5, 6, 7}),
                                            Tensor::From<int64_t>(ctx, {1, 2, 1, 1, 2, 0}));
}

// One step changes rows, also in caches.
void Step(Context& ctx, RankingModel& model) {
  Tape tape(ctx);
  const Variable outputs = model.Forward(ctx, Tensor::Full(ctx, {2, 3}, 0.5), Bags(ctx));
  tape.Backward(model.Loss(ctx, outputs, Tensor::Full(ctx, {2}, 1)));
}

// Copies for other contexts, which do not wait for the stream that made the tensors.
std::vector<NamedTensor> OnHost(std::vector<NamedTensor> tensors) {
  for (NamedTensor& t : tensors) t.tensor = t.tensor.ToHost();
  return tensors;
}

std::map<std::string, Tensor> ByName(const std::vector<NamedTensor>& tensors) {
  std::map<std::string, Tensor> by_name;
  for (const NamedTensor& t : tensors) by_name[t.name] = t.tensor.ToHost();
  return by_name;
}

void ExpectSame(const std::vector<NamedTensor>& got, const std::vector<NamedTensor>& expected) {
  const auto a = ByName(got), b = ByName(expected);
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, tensor] : b) {
    ASSERT_TRUE(a.contains(name)) << name;
    EXPECT_TRUE(SameBits(a.at(name), tensor)) << name;
  }
}

std::vector<ShardingPlan> Plans(const RankingModelConfig& config, int ranks) {
  std::vector<TableShape> shapes;
  for (const EmbeddingBagConfig& t : config.tables)
    shapes.push_back({t.name, t.num_embeddings, t.embedding_dim});
  const RankLayout layout{ranks, ranks};
  return {MakeShardingPlan(layout, shapes, RowWise()),
          MakeShardingPlan(layout, shapes,
                           {{"a", ColumnWise({0, 1})}, {"b", DataParallel()}, {"c", RowWise()}}),
          MakeShardingPlan(layout, shapes, TableWise(ranks - 1))};
}

TEST_P(WholeStateDictTest, IsTheSameWhereverTablesLie) {
  for (const DType rows : {DType::kF32, DType::kF16}) {
    Context ctx = Own(3);
    RankingModel plain(ctx, ConfigOf(EmbeddingLocation::kDevice, rows));
    Step(ctx, plain);
    const std::vector<NamedTensor> expected = OnHost(plain.WholeStateDict(ctx));
    ExpectSame(expected, plain.StateDict());
    for (const EmbeddingLocation location :
         {EmbeddingLocation::kManagedCaching, EmbeddingLocation::kDisk}) {
      Context other = Own(9);
      RankingModel model(other, ConfigOf(location, rows));
      Step(other, model);
      EXPECT_THAT(model.LoadWholeStateDict(other, expected).missing, IsEmpty());
      ExpectSame(model.WholeStateDict(other), expected);
      Step(other, model);  // copies stay what they were
      Step(ctx, plain);
      ExpectSame(model.WholeStateDict(other), plain.WholeStateDict(ctx));
      plain.LoadWholeStateDict(ctx, expected);
    }
  }
}

TEST_P(WholeStateDictTest, GoesUnderAnyPlanAndBack) {
  const RankingModelConfig config = ConfigOf();
  Context ctx = Own(3);
  RankingModel alone(ctx, config);
  const std::vector<NamedTensor> expected = OnHost(alone.WholeStateDict(ctx));
  RunLocalRanks(3, [&](Communicator& comm) {
    for (const ShardingPlan& plan : Plans(config, 3)) {
      Context own = Own(9);
      RankingModel model(own, config, ModelSharding{&comm, plan, {}});
      const UnmatchedNames unmatched = model.LoadWholeStateDict(own, expected);
      EXPECT_THAT(unmatched.missing, IsEmpty());
      EXPECT_THAT(unmatched.unexpected, IsEmpty());
      ExpectSame(model.WholeStateDict(own), expected);
      Step(own, model);
      const std::vector<NamedTensor> trained = model.WholeStateDict(own);
      EXPECT_FALSE(SameBits(ByName(trained).at(alone.table_prefix() + "a.weight"),
                            ByName(expected).at(alone.table_prefix() + "a.weight")));
      RankingModel back(own, config);
      back.LoadStateDict(own, trained);
      ExpectSame(back.WholeStateDict(own), trained);
    }
  });
}

TEST_P(WholeStateDictTest, NamesNeedNotMatchWithoutStrict) {
  const RankingModelConfig config = ConfigOf();
  RunLocalRanks(2, [&](Communicator& comm) {
    for (const bool sharded : {false, true}) {
      Context own = Own(4);
      std::optional<ModelSharding> sharding;
      if (sharded) sharding = ModelSharding{&comm, Plans(config, 2)[0], {}};
      RankingModel model(own, config, sharding);
      const std::vector<NamedTensor> before = model.WholeStateDict(own);
      const std::string table = model.table_prefix() + "b.weight";
      std::vector<NamedTensor> given = {{table, RandomTensor(own, {12, 4})},
                                        {"of another model", RandomTensor(own, {2})}};
      const UnmatchedNames unmatched = model.LoadWholeStateDict(own, given, /*strict=*/false);
      EXPECT_EQ(unmatched.missing.size(), before.size() - 1);
      EXPECT_THAT(unmatched.unexpected, ElementsAre("of another model"));
      auto expected = ByName(before);
      expected[table] = given[0].tensor.ToHost();
      for (const auto& [name, tensor] : ByName(model.WholeStateDict(own)))
        EXPECT_TRUE(SameBits(tensor, expected.at(name))) << name;

      given[0].tensor = RandomTensor(own, {12, 5});
      EXPECT_THAT(ErrorOf([&] { model.LoadWholeStateDict(own, given, false); }), HasSubstr(table));
      given[0].tensor = Tensor::Zeros(own, {12, 4}, DType::kF16);
      EXPECT_THAT(ErrorOf([&] { model.LoadWholeStateDict(own, given, false); }), HasSubstr(table));
    }
  });
}

// If one rank refuses, all refuse, and nothing has changed.
TEST_P(WholeStateDictTest, RanksRefuseTogether) {
  const RankingModelConfig config = ConfigOf();
  RunLocalRanks(2, [&](Communicator& comm) {
    Context own = Own(4);
    RankingModel model(own, config, ModelSharding{&comm, Plans(config, 2)[1], {}});
    const std::vector<NamedTensor> before = model.WholeStateDict(own);
    std::vector<NamedTensor> given;
    for (const NamedTensor& t : before)
      given.push_back({t.name, RandomTensor(own, t.tensor.shape())});
    if (comm.rank() == 1) given.pop_back();
    EXPECT_THAT(ErrorOf([&] { model.LoadWholeStateDict(own, given); }), HasSubstr("is missing"));
    ExpectSame(model.WholeStateDict(own), before);
  });
}

}  // namespace
}  // namespace tessera
