// The launches and allocations of a training step of cached tables, as the emulator counts them.
#include <gtest/gtest.h>

#include <cstdlib>

#include "embedding/table_batched_embedding.h"
#include "runtime/device/allocator.h"
#include "runtime/ops/arithmetic.h"
#include "tools/emulation/emulation.h"

namespace tessera {
namespace {

constexpr int64_t kRows = 60, kBags = 5;

struct Counts {
  int64_t launches, allocations;
};
Counts operator-(const Counts& a, const Counts& b) {
  return {a.launches - b.launches, a.allocations - b.allocations};
}

class CacheLaunchesTest : public ::testing::Test {
 protected:
  TableBatchedEmbedding Tables(int count, EmbeddingLocation location) {
    std::vector<BaseEmbeddingConfig> configs;
    std::vector<PoolingType> poolings;
    std::vector<EmbeddingFeature> features;
    for (int t = 0; t < count; ++t) {
      const std::string name = "t" + std::to_string(t);
      BaseEmbeddingConfig config;
      config.name = name;
      config.num_embeddings = kRows + t;
      config.embedding_dim = 4 + 4 * (t % 3);
      config.optimizer = RowwiseAdagrad{0.1f};
      config.location = location;
      config.cache = {.ways = 2, .load_factor = 0.1};
      configs.push_back(config);
      poolings.push_back(PoolingType::kSum);
      features.push_back({name, t, name});
    }
    return TableBatchedEmbedding(ctx_, configs, poolings, features,
                                 {.bounds_check = BoundsCheckMode::kIgnore});
  }
  KeyedJaggedTensor Kjt(int keys, int64_t step) {
    Context cpu;
    std::vector<int64_t> ids, lengths;
    std::vector<std::string> names;
    for (int k = 0; k < keys; ++k) {
      names.push_back("t" + std::to_string(k));
      for (int64_t bag = 0; bag < kBags; ++bag) {
        lengths.push_back(3);
        for (int64_t i = 0; i < 3; ++i) ids.push_back((7 * bag + 11 * i + k + 17 * step) % kRows);
      }
    }
    return KeyedJaggedTensor::FromLengthsSync(names, Tensor::From(cpu, ids),
                                              Tensor::From(cpu, lengths))
        .To(ctx_, Device::Cuda());
  }
  static Counts Now() {
    return {cuda_emulation::Stats().launches, AllocatorOf(Device::Cuda()).stats().allocations};
  }
  // Those of a training step that is not the first.
  Counts OfAStep(int tables, EmbeddingLocation location) {
    TableBatchedEmbedding embedding = Tables(tables, location);
    Counts step = {};
    for (int64_t s = 0; s < 3; ++s) {
      const KeyedJaggedTensor kjt = Kjt(tables, s);
      ctx_.Sync();
      const Counts before = Now();
      Tape tape(ctx_);
      tape.Backward(Sum(ctx_, embedding.Forward(ctx_, kjt)));
      ctx_.Sync();
      step = Now() - before;
    }
    return step;
  }
  // Those that caches add to a step.
  Counts OfCaches(int tables) {
    return OfAStep(tables, EmbeddingLocation::kManagedCaching) -
           OfAStep(tables, EmbeddingLocation::kDevice);
  }

  Context ctx_{{.device = Device::Cuda()}};
};

// A launch that moves rows has room for the pointers of 26 tables.
TEST_F(CacheLaunchesTest, NoMoreForManyTablesThanForOne) {
  const Counts one = OfCaches(1), four = OfCaches(4), many = OfCaches(26);
  std::printf("1 table: %ld launches, %ld allocations; 4: %ld, %ld; 26: %ld, %ld\n", one.launches,
              one.allocations, four.launches, four.allocations, many.launches, many.allocations);
  // The emulator counts a call of CUB as one launch; compiled, a call makes several.
  EXPECT_LE(one.launches, std::getenv("COMPILED_KERNELS") != nullptr ? 14 : 9);
  EXPECT_LE(one.allocations, 6);
  EXPECT_EQ(four.launches, one.launches);
  EXPECT_EQ(four.allocations, one.allocations);
  EXPECT_EQ(many.launches, one.launches);
  EXPECT_EQ(many.allocations, one.allocations);
}

}  // namespace
}  // namespace tessera
