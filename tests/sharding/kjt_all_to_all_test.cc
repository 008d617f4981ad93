// Features between ranks against plain loops over bags, and against the input_dist of sharded
// tables.
#include "sharding/exchange/kjt_all_to_all.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "comm/local_communicator.h"
#include "sharding/exchange/one_to_all.h"
#include "sharding/sharded_tables.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using Numbers = std::vector<int64_t>;
using Bags = std::vector<Numbers>;

const std::vector<std::string>& Keys() {
  static const std::vector<std::string> keys = {"a", "b", "c", "d", "e"};
  return keys;
}

struct Case {
  bool weighted = false, variable = false;
  int64_t stagger = 1;
};

// [rank][key][bag]; the weight of id i in a bag is i / 4.
std::vector<std::vector<Bags>> DrawBatches(int world, const Case& c) {
  std::mt19937 random(static_cast<unsigned>(world));
  std::vector<std::vector<Bags>> batches(static_cast<size_t>(world));
  for (auto& batch : batches) {
    const int64_t examples = static_cast<int64_t>(random() % 4);
    for (size_t k = 0; k < Keys().size(); ++k) {
      const int64_t bags = c.variable ? static_cast<int64_t>(random() % 4) : examples;
      batch.emplace_back();
      for (int64_t b = 0; b < bags; ++b) {
        batch.back().emplace_back();
        for (auto n = random() % 4; n > 0; --n)
          batch.back().back().push_back(static_cast<int64_t>(random() % 10));
      }
    }
  }
  return batches;
}

std::vector<float> WeightsOf(const Numbers& ids) {
  std::vector<float> weights;
  for (const int64_t id : ids) weights.push_back(static_cast<float>(id) / 4);
  return weights;
}

// strides: bags of each key from each rank.
KeyedJaggedTensor KjtOf(Context& ctx, const Case& c, std::vector<std::string> keys,
                        const std::vector<Bags>& bags, int64_t stride,
                        StridePerKeyPerRank strides = {}) {
  Numbers ids, lengths;
  for (const Bags& of_key : bags) {
    if (c.variable && strides.size() < bags.size())
      strides.push_back({static_cast<int64_t>(of_key.size())});
    for (const Numbers& bag : of_key) {
      lengths.push_back(static_cast<int64_t>(bag.size()));
      ids.insert(ids.end(), bag.begin(), bag.end());
    }
  }
  KeyedJaggedTensorArgs args{.keys = std::move(keys), .values = Tensor::From(ctx, ids)};
  if (c.weighted) args.weights = Variable(Tensor::From(ctx, WeightsOf(ids)), true);
  args.lengths = Tensor::From(ctx, lengths);
  if (c.variable)
    args.stride_per_key_per_rank = std::move(strides);
  else
    args.stride = stride;
  return KeyedJaggedTensor(std::move(args));
}

int64_t Examples(const std::vector<Bags>& batch) {
  return static_cast<int64_t>(batch.empty() ? 0 : batch[0].size());
}

Numbers KeySplits(int world) {
  const std::vector<Numbers> splits = {{5}, {3, 2}, {1, 0, 4}, {2, 1, 1, 1}};
  return splits[static_cast<size_t>(world - 1)];
}

Numbers StaggeredRanks(int64_t world, int64_t stagger) {
  Numbers order;
  for (int64_t x = 0; x < world / stagger; ++x)
    for (int64_t y = 0; y < stagger; ++y) order.push_back(x + world / stagger * y);
  return order;
}

class KjtAllToAllTest : public testing::DeviceTest {
 protected:
  void ExpectSame(Context& ctx, const KeyedJaggedTensor& got, const KeyedJaggedTensor& expected) {
    EXPECT_TRUE(KjtIsEqual(ctx, got, expected))
        << "expected " << ToString(ctx, expected) << "got " << ToString(ctx, got);
  }
  // Gradients of the received weights, twice the weights, come back to the ranks that the weights
  // came from.
  static void CheckWeightGrads(Context& own, Tape& tape, const KeyedJaggedTensor& sent,
                               const KeyedJaggedTensor& got) {
    const Tensor values = got.weights().value();
    std::vector<float> grad = values.ToVector<float>();
    for (float& x : grad) x *= 2;
    tape.Backward(got.weights(), Tensor::From(own, values.shape(), grad));
    std::vector<float> expected = sent.weights().value().ToVector<float>();
    for (float& x : expected) x *= 2;
    EXPECT_EQ(sent.weights().grad().ToVector<float>(), expected);
  }
};

TEST_P(KjtAllToAllTest, EveryRankGetsItsKeys) {
  for (int world = 1; world <= 4; ++world)
    for (const Case& c : {Case{}, Case{true}, Case{false, true}, Case{true, true},
                          Case{true, false, 2}, Case{false, true, 2}}) {
      if (world % c.stagger != 0) continue;
      const auto batches = DrawBatches(world, c);
      RunLocalRanks(world, [&](Communicator& comm) {
        SCOPED_TRACE(Format("rank {} of {}, weighted {}, variable {}, stagger {}", comm.rank(),
                            world, c.weighted, c.variable, c.stagger));
        Context own({.device = device(), .threads = 1});
        Tape tape(own);
        const Numbers splits = KeySplits(world);
        const auto& batch = batches[static_cast<size_t>(comm.rank())];
        const KeyedJaggedTensor sent = KjtOf(own, c, Keys(), batch, Examples(batch));
        const KeyedJaggedTensor got = KJTAllToAll(comm, splits, c.stagger).Start(own, sent).Wait();

        const auto first =
            std::accumulate(splits.begin(), splits.begin() + comm.rank(), int64_t{0});
        const auto mine = splits[static_cast<size_t>(comm.rank())];
        std::vector<Bags> bags;
        StridePerKeyPerRank strides;
        int64_t stride = 0;
        for (const auto& b : batches) stride += Examples(b);
        for (int64_t k = first; k < first + mine; ++k) {
          bags.emplace_back();
          strides.emplace_back();
          for (const int64_t q : StaggeredRanks(world, c.stagger)) {
            const Bags& from = batches[static_cast<size_t>(q)][static_cast<size_t>(k)];
            bags.back().insert(bags.back().end(), from.begin(), from.end());
            strides.back().push_back(static_cast<int64_t>(from.size()));
          }
        }
        const auto keys = Keys().begin() + first;
        if (!c.variable || mine > 0)
          ExpectSame(own, got, KjtOf(own, c, {keys, keys + mine}, bags, stride, strides));
        else
          EXPECT_EQ(got.num_keys(), 0);
        if (c.weighted) CheckWeightGrads(own, tape, sent, got);
      });
    }
}

TEST_P(KjtAllToAllTest, OneToAll) {
  for (int world = 1; world <= 4; ++world)
    for (const Case& c : {Case{}, Case{true}, Case{true, true}}) {
      const int root = world / 2;
      const auto batch = DrawBatches(world, c)[0];
      RunLocalRanks(world, [&](Communicator& comm) {
        SCOPED_TRACE(Format("rank {} of {}, weighted {}, variable {}", comm.rank(), world,
                            c.weighted, c.variable));
        Context own({.device = device(), .threads = 1});
        Tape tape(own);
        const Numbers splits = KeySplits(world);
        KeyedJaggedTensor sent;
        if (comm.rank() == root) sent = KjtOf(own, c, Keys(), batch, Examples(batch));
        const KeyedJaggedTensor got =
            KJTOneToAll(comm, Keys(), splits, root).Start(own, sent).Wait();
        const auto first =
            std::accumulate(splits.begin(), splits.begin() + comm.rank(), int64_t{0});
        const auto mine = splits[static_cast<size_t>(comm.rank())];
        const auto keys = Keys().begin() + first;
        const std::vector<Bags> bags(batch.begin() + first, batch.begin() + first + mine);
        if (!c.variable || mine > 0)
          ExpectSame(own, got, KjtOf(own, c, {keys, keys + mine}, bags, Examples(batch)));
        if (!c.weighted) return;
        const Tensor weights = got.weights().value();
        tape.Backward(got.weights(), weights.Clone(own));
        if (comm.rank() == root) {
          EXPECT_EQ(sent.weights().grad().ToVector<float>(),
                    sent.weights().value().ToVector<float>());
        }
      });
    }
}

TEST_P(KjtAllToAllTest, DifferentTypesAreRefused) {
  EXPECT_THROW(
      RunLocalRanks(2,
                    [&](Communicator& comm) {
                      Context own({.device = device(), .threads = 1});
                      const Case c{.weighted = comm.rank() == 1};
                      const KeyedJaggedTensor kjt = KjtOf(own, c, {"a", "b"}, {{{1}}, {{2}}}, 1);
                      KJTAllToAll(comm, {1, 1}).Start(own, kjt).Wait();
                    }),
      Error);
  RunLocalRanks(1, [&](Communicator& comm) {
    Context own({.device = device(), .threads = 1});
    EXPECT_THROW(KJTAllToAll(comm, {1, 2}), Error);
    EXPECT_THROW(KJTAllToAll(comm, {1}, 2), Error);
    EXPECT_THROW(KJTAllToAll(comm, {3}).Start(own, KjtOf(own, {}, {"a"}, {{{1}}}, 1)), Error);
  });
}

// ---- what sharded tables send, where rows are not split, is a Permute and a KJTAllToAll

ShardingPlan PlanOf(ShardingType type, int world, const std::vector<BaseEmbeddingConfig>& tables) {
  ShardingPlan plan{.world_size = world, .local_size = world, .tables = {}};
  for (size_t t = 0; t < tables.size(); ++t) {
    const int64_t rows = tables[t].num_embeddings, half = tables[t].embedding_dim / 2;
    const int home = static_cast<int>(t) % world;
    TableSharding& s = plan.tables[tables[t].name];
    s.type = type;
    if (type == ShardingType::kTableWise)
      s.shards = {{home, 0, 0, rows, 2 * half}};
    else
      s.shards = {{home, 0, 0, rows, half}, {(home + 1) % world, 0, half, rows, half}};
  }
  return plan;
}

TEST_P(KjtAllToAllTest, IsTheInputDistOfTablesAndColumns) {
  std::vector<BaseEmbeddingConfig> tables;
  std::vector<EmbeddingFeature> features;
  for (size_t t = 0; t < 3; ++t) {
    BaseEmbeddingConfig config;
    config.name = Format("t{}", t);
    config.num_embeddings = 10;
    config.embedding_dim = 4;
    tables.push_back(config);
    for (size_t k = t; k < Keys().size(); k += 3) {
      tables.back().feature_names.push_back(Keys()[k]);
      features.push_back({Keys()[k], static_cast<int>(t), Keys()[k]});
    }
  }
  for (int world = 1; world <= 4; ++world)
    for (const ShardingType type : {ShardingType::kTableWise, ShardingType::kColumnWise}) {
      const ShardingPlan plan = PlanOf(type, world, tables);
      const Case c{.weighted = true};
      const auto batches = DrawBatches(world, c);
      RunLocalRanks(world, [&](Communicator& comm) {
        Context own({.device = device(), .threads = 1});
        ShardedTables sharded(own, comm, tables, std::vector(tables.size(), PoolingType::kSum),
                              features, plan, {.weighted = true});
        const auto& batch = batches[static_cast<size_t>(comm.rank())];
        const KeyedJaggedTensor kjt = KjtOf(own, c, Keys(), batch, Examples(batch));
        Numbers order, splits;
        for (const DistRank& rank : DistLayout(tables, features, plan).ranks) {
          splits.push_back(static_cast<int64_t>(rank.streams.size()));
          for (const DistStream& s : rank.streams)
            order.push_back(kjt.IndexOf(features[static_cast<size_t>(s.feature)].key));
        }
        const InputDist input = sharded.StartInputDist(own, kjt).Wait();
        const KeyedJaggedTensor got =
            KJTAllToAll(comm, splits).Start(own, kjt.Permute(own, order)).Wait();
        const KeyedJaggedTensor& away = input.received().kjt;
        EXPECT_TRUE(SameBits(got.values().ToHost(), away.values().ToHost()));
        EXPECT_TRUE(SameBits(got.weights().value().ToHost(), away.weights().value().ToHost()));
        EXPECT_TRUE(
            SameBits(got.lengths(own).To(own, DType::kI32).ToHost(), away.lengths(own).ToHost()));
      });
    }
}

TESSERA_INSTANTIATE_DEVICES(KjtAllToAllTest);

}  // namespace
}  // namespace tessera
