// Compiled kernels ask memory for little more than they must: sectors a request, turns of shared
// memory's banks, and all bytes beside those that a lookup or an update cannot do without.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "embedding/lookup/lookup.h"
#include "embedding/update/update.h"
#include "tests/testing/devices.h"
#include "tests/testing/random_batch.h"
#include "tests/testing/update_tables.h"
#include "tools/ptx/statistics.h"

namespace tessera {
namespace {

using testing::BatchShape;
using testing::RandomBatch;
using testing::UpdateTables;

// Before anything is launched.
const bool kCounts = setenv("TESSERA_PTX_STATISTICS", "1", 1) == 0;

class TrafficTest : public testing::DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (on_cpu()) GTEST_SKIP() << "SKIPPED: the interpreter counts what a GPU's kernels ask for";
    if (std::getenv("TESSERA_PTX_SEED") != nullptr)
      GTEST_SKIP() << "SKIPPED: TESSERA_PTX_SEED lets parts of a warp ask for themselves";
    ASSERT_TRUE(kCounts);
  }

  // Returns the counts of the one kernel with `name` that `run` launches.
  template <typename Run>
  ptx::Counts CountsOf(const std::string& name, const Run& run) {
    ctx().Sync();
    ptx::Statistics::Asked()->Take();
    run();
    ctx().Sync();
    ptx::Counts found;
    for (const auto& [kernel, counts] : ptx::Statistics::Asked()->Take()) {
      if (kernel.find(name) == std::string::npos) continue;
      EXPECT_EQ(found.launches, 0u) << kernel;
      found = counts;
    }
    EXPECT_EQ(found.launches, 1u) << name;
    return found;
  }
};

// The most that a test allows: sectors of all requests beside those that each request's bytes would
// need side by side, and bytes of sectors that are touched at all beside the least.
struct Limits {
  double sectors, bytes;
};

void ExpectWithin(const Limits& limits, const ptx::Counts& counts, int64_t least_bytes) {
  const auto ratio = [](uint64_t a, uint64_t b) {
    return static_cast<double>(a) / static_cast<double>(b);
  };
  EXPECT_LE(ratio(counts.global_sectors, counts.least_sectors), limits.sectors);
  EXPECT_LE(ratio(counts.distinct_sectors * 32, static_cast<uint64_t>(least_bytes)), limits.bytes);
  EXPECT_EQ(counts.shared_turns, counts.least_turns) << "banks of shared memory are in conflict";
}

constexpr int64_t kBags = 64;
BatchShape ShapeOf(int64_t dim) {
  return {.dims = {dim}, .rows = 4000, .batch = kBags, .mean_length = 20, .seed = 5};
}
int64_t DistinctIds(Context& ctx, const RandomBatch& batch) {
  const std::vector<int64_t> ids = batch.ids(ctx);
  return static_cast<int64_t>(std::set<int64_t>(ids.begin(), ids.end()).size());
}

// Rows of 16 bits and few columns are read by few lanes, so that a request has ids of many bags,
// which lie apart; the sectors come from the first level of cache when the bags' next ids do. Of
// outputs of 32 bits beside rows of 16, a lane stores two vectors.
TEST_P(TrafficTest, Lookup) {
  for (const auto& [dim, row, limits] :
       std::vector<std::tuple<int64_t, DType, Limits>>{{16, DType::kF32, {1.10, 1.05}},
                                                       {64, DType::kF32, {1.02, 1.05}},
                                                       {128, DType::kF32, {1.01, 1.05}},
                                                       {16, DType::kF16, {1.65, 1.05}},
                                                       {64, DType::kF16, {1.12, 1.05}},
                                                       {128, DType::kF16, {1.10, 1.05}}}) {
    SCOPED_TRACE(Format("{} columns of {}", dim, row));
    BatchShape shape = ShapeOf(dim);
    shape.row_type = row;
    RandomBatch batch(ctx(), shape);
    const LookupArgs lookup = batch.Lookup();
    const int64_t least = DistinctIds(ctx(), batch) * dim * SizeOf(row) + batch.num_ids() * 8 +
                          (kBags + 1) * 8 + kBags * dim * 4;
    ExpectWithin(limits, CountsOf("LookupKernel", [&] { Lookup(ctx(), lookup); }), least);
  }
}

// A row's one state of 4 bytes is alone in its sector, unless the batch has its neighbours too.
TEST_P(TrafficTest, Update) {
  const AnyRule sgd = Sgd(), rowwise = RowwiseAdagrad(), adam = Adam();
  for (const auto& [dim, rule, state_bytes, limits] :
       std::vector<std::tuple<int64_t, AnyRule, int64_t, Limits>>{
           {16, sgd, 0, {1.06, 1.1}},
           {64, sgd, 0, {1.02, 1.1}},
           {128, sgd, 0, {1.01, 1.1}},
           {16, rowwise, 4, {1.16, 1.2}},
           {64, rowwise, 4, {1.05, 1.1}},
           {128, rowwise, 4, {1.02, 1.1}},
           {16, adam, 2 * 16 * 4, {1.03, 1.1}},
           {64, adam, 2 * 64 * 4, {1.01, 1.1}},
           {128, adam, 2 * 128 * 4, {1.01, 1.1}}}) {
    SCOPED_TRACE(Format("{}, {} columns", RuleName(rule), dim));
    const BatchShape shape = ShapeOf(dim);
    RandomBatch batch(ctx(), shape);
    const std::vector<AnyRule> rules = {rule};
    const UpdateTables tables(ctx(), batch, shape, rules);
    const UpdateArgs update{batch.Gradient(), tables.tables(), 3};
    // Rows, states, where their run begins, its key; an occurrence's slot; gradients.
    const int64_t least = DistinctIds(ctx(), batch) * (dim * 4 + state_bytes + 4 + 4) +
                          batch.num_ids() * 4 + kBags * dim * 4;
    ExpectWithin(limits, CountsOf("UpdateRegisterRowsKernel", [&] { Update(ctx(), update); }),
                 least);
  }
}

TESSERA_INSTANTIATE_DEVICES(TrafficTest);

}  // namespace
}  // namespace tessera
