// Batches of users' ids, and the bare loops: what they give is what the obvious loop gives.
#include "bench/embedding/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/embedding/lookup_check.h"
#include "runtime/base/check.h"
#include "runtime/context.h"

namespace tessera::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Shape Small() {
  Shape shape;
  shape.rows = {40, 50};
  shape.dim = 48;
  shape.batch = 30;
  shape.lengths = ParseBagLengths("range:0-7");
  return shape;
}

// Three tables, of which no two have the same dim, lengths or skew.
Shape Mixed(std::vector<int64_t> dims) {
  Shape shape = Small();
  shape.rows = {40, 50, 700};
  const char* const lengths[] = {"0", "range:0-7", "3"};
  for (size_t t = 0; t < 3; ++t)
    shape.own.push_back({dims[t], ParseBagLengths(lengths[t]), t == 0 ? Skew{} : Skew::Zipf(1.1)});
  return shape;
}

TEST(BareLoops, GatherTablesOfSeveralDims) {
  for (const int threads : {1, 3})
    for (const auto& dims : {std::vector<int64_t>{16, 128, 64}, {100, 16, 7}})
      for (const PoolingType pooling : {PoolingType::kSum, PoolingType::kNone}) {
        Context ctx({.threads = threads, .seed = 3});
        Shape shape = Mixed(dims);
        shape.pooling = pooling;
        Workload work(ctx, shape, 0, 0);
        work.ClearOutput();
        work.RunGather(ctx, 1);
        ASSERT_NO_THROW(CheckLookup(work.Lookup(1, false))) << dims[0] << ToString(pooling);
        work.ClearOutput();
        Lookup(ctx, work.Lookup(2, false));
        ASSERT_NO_THROW(CheckLookup(work.Lookup(2, false))) << dims[0] << ToString(pooling);
      }
}

TEST(Workload, CountsTheBytesOfEachTable) {
  Context ctx({.threads = 1, .seed = 3});
  Shape shape = Mixed({16, 32, 64});
  shape.own[1].lengths = ParseBagLengths("2");
  const double bags = 30, ids = bags * (2 + 3);
  EXPECT_EQ(Workload(ctx, shape, 0, 0).LookupBytes(),
            4 * bags * (2 * 32 + 3 * 64) + 8 * ids + 4 * bags * (16 + 32 + 64));
}

TEST(BareLoops, GatherWhatTheObviousLoopGives) {
  Context ctx({.threads = 2, .seed = 3});
  for (const int64_t dim : {1, 16, 48, 100, 128, 300})
    for (const PoolingType pooling : {PoolingType::kSum, PoolingType::kNone})
      for (const DType row : {DType::kF32, DType::kF16, DType::kBF16})
        for (const DType output : {DType::kF32, DType::kF16}) {
          Shape shape = Small();
          shape.dim = dim;
          shape.pooling = pooling;
          shape.row_type = row;
          shape.output_type = output;
          Workload work(ctx, shape, 0, 0);
          work.ClearOutput();
          work.RunGather(ctx, 1);
          ASSERT_NO_THROW(CheckLookup(work.Lookup(1, false)))
              << "dim " << dim << ", " << ToString(row) << " to " << ToString(output);
        }
}

// With one id a bag and no state, the loop's step is one of SGD with this rate.
TEST(BareLoops, UpdateWhatSgdUpdates) {
  const AnyRule rule = Sgd{.lr = 1e-3f};
  std::vector<Shape> shapes = {Mixed({16, 128, 64}), Mixed({100, 16, 7}), Small(), Small()};
  shapes[2].dim = 16;
  shapes[3].pooling = PoolingType::kNone;
  shapes.push_back(Mixed({32, 16, 7}));
  shapes.back().pooling = PoolingType::kNone;
  for (const Shape& shape : shapes) {
    Context ctx({.threads = 2, .seed = 3}), same({.threads = 1, .seed = 3});
    Workload bare(ctx, shape, 0, 0), ours(same, shape, 0, 0);
    bare.RunBareUpdate(ctx, 0, rule, 4);
    Update(same, {ours.Lookup(0, true), ours.Tables(rule), 1});
    for (size_t t = 0; t < shape.rows.size(); ++t) {
      const auto* a = static_cast<const float*>(bare.Tables(rule)[t].weights);
      const auto* b = static_cast<const float*>(ours.Tables(rule)[t].weights);
      for (int64_t i = 0; i < shape.rows[t] * shape.DimOf(t); ++i)
        ASSERT_NEAR(a[i], b[i], 1e-7) << t << ", " << i;
    }
  }
}

Shape OfFile(IdFile file, int64_t tables, int64_t batch) {
  Shape shape;
  shape.rows = std::vector<int64_t>(static_cast<size_t>(tables), 100);
  shape.batch = batch;
  shape.lengths = ParseBagLengths("2");
  shape.ids = std::make_shared<IdFile>(std::move(file));
  return shape;
}

TEST(IdBatches, TakeTheNextBagsOfEachTable) {
  IdBatches batches(OfFile({{{{1, 2, 3, 4}, {0, 3, 3, 4}}, {{5, 6, 7}, {0, 1, 2, 3}}}}, 2, 2), 1);
  const IdBatch first = batches.Next();
  EXPECT_THAT(first.ids, ElementsAre(1, 2, 3, 5, 6));
  EXPECT_THAT(first.offsets, ElementsAre(0, 3, 3, 4, 5));
  const IdBatch second = batches.Next();  // begins anew
  EXPECT_THAT(second.ids, ElementsAre(4, 1, 2, 3, 7, 5));
  EXPECT_THAT(second.offsets, ElementsAre(0, 1, 4, 5, 6));
}

TEST(IdBatches, TakeTheNextIdsOfAFileWithoutBags) {
  IdBatches batches(OfFile({{{{1, 2, 3, 4, 5}}}}, 1, 2), 1);
  EXPECT_THAT(batches.Next().ids, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(batches.Next().ids, ElementsAre(5, 1, 2, 3));
}

TEST(IdBatches, AFileMustHaveTheTablesAndBagsThatAreAskedFor) {
  const IdFile file = {{{{1, 2}, {0, 1, 2}}, {{3, 4}, {0, 1, 2}}}};
  EXPECT_THAT([&] { IdBatches(OfFile(file, 3, 2), 1); },
              ThrowsMessage<Error>(HasSubstr("--tables 3: the file of --ids has 2 tables")));
  EXPECT_THAT([&] { IdBatches(OfFile(file, 2, 5), 1); },
              ThrowsMessage<Error>(HasSubstr("--batch 5: table 0 of --ids has 2 bags")));
}

}  // namespace
}  // namespace tessera::bench
