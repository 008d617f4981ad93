// Ops that choose, reorder and join parts of batches, each beside an obvious loop.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "sparse/ids/bottom_k.h"
#include "sparse/ids/bucketize.h"
#include "sparse/input_combine.h"
#include "sparse/jagged/jagged_dense.h"
#include "sparse/jagged/jagged_unique.h"
#include "sparse/ops/index_select.h"
#include "sparse/ops/segments.h"
#include "sparse/ops/select.h"
#include "sparse/reorder_batched_ads.h"
#include "tests/testing/devices.h"
#include "tests/testing/finite_differences.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Longs = std::vector<int64_t>;

class RoutingOpsTest : public testing::DeviceTest {
 protected:
  Tensor T(const Longs& numbers, DType dtype = DType::kI64) {
    return Tensor::From(ctx(), numbers).To(ctx(), dtype);
  }
  Tensor F(const std::vector<float>& numbers) { return Tensor::From(ctx(), numbers); }
  Longs Random(int64_t n, int64_t below) {
    Longs numbers;
    for (int64_t i = 0; i < n; ++i)
      numbers.push_back(static_cast<int64_t>(random_() % static_cast<uint64_t>(below)));
    return numbers;
  }
  static std::vector<float> Floats(const Tensor& t) { return t.ToVector<float>(); }

  std::mt19937 random_{3};
};

TEST_P(RoutingOpsTest, IndexSelectTakesRowsAndSumsTheirGradients) {
  for (const DType type : {DType::kI32, DType::kI64}) {
    const Tensor indices = T({2, 0, 2}, type);
    const Tensor x = Tensor::From(ctx(), {3, 2}, std::vector<float>{0, 1, 10, 11, 20, 21});
    EXPECT_THAT(Floats(IndexSelectDim0(ctx(), x, indices)), ElementsAre(20, 21, 0, 1, 20, 21));
    testing::ExpectGradients(ctx(),
                             [&](Context& on, const std::vector<Variable>& in) {
                               return std::vector<Variable>{IndexSelectDim0(on, in[0], indices)};
                             },
                             {testing::RandomTensor(ctx(), {3, 2})});
  }
  EXPECT_EQ(IndexSelectDim0(ctx(), T({5, 6}), T({})).shape(), (Shape{0}));
  EXPECT_THAT(ToInt64(IndexSelectDim0(ctx(), T({5, 6}), T({1, 1}))), ElementsAre(6, 6));
  if (on_cpu()) {
    EXPECT_THAT(
        [&] {
          IndexSelectDim0(ctx(), T({5, 6}), T({2}));
        },
        ThrowsMessage<Error>(HasSubstr("index 2 at position 0: there are 2 rows")));
  }
}

TEST_P(RoutingOpsTest, IndexSelectOfManyTensors) {
  const auto group = GroupIndexSelectDim0(ctx(), {T({5, 6}), F({1, 2, 3})}, {T({1}), T({2, 0})});
  EXPECT_THAT(ToInt64(group[0]), ElementsAre(6));
  EXPECT_THAT(Floats(group[1]), ElementsAre(3, 1));

  BatchIndexSelectArgs args{.inputs = F({0, 1, 2, 3, 4, 5, 60, 70, 80}),
                            .indices = T({1, 0, 2, 2}),
                            .num_indices = {2, 2},
                            .rows = {2, 3},
                            .columns = {3, 1}};
  EXPECT_THAT(Floats(BatchIndexSelectDim0(ctx(), args)), ElementsAre(3, 4, 5, 0, 1, 2, 80, 80));
  args.permute_output_dim_0_1 = true;
  EXPECT_THAT(Floats(BatchIndexSelectDim0(ctx(), args)), ElementsAre(3, 4, 5, 80, 0, 1, 2, 80));
  testing::ExpectGradients(ctx(),
                           [&](Context& on, const std::vector<Variable>& in) {
                             BatchIndexSelectArgs of = args;
                             of.inputs = in[0];
                             return std::vector<Variable>{BatchIndexSelectDim0(on, of)};
                           },
                           {testing::RandomTensor(ctx(), {9})});
  args.num_indices = {1, 3};
  EXPECT_THAT([&] { BatchIndexSelectDim0(ctx(), args); },
              ThrowsMessage<Error>(HasSubstr("permute_output_dim_0_1 with 3 indices of matrix 1")));
  args.rows = {2, 4};
  args.permute_output_dim_0_1 = false;
  EXPECT_THAT([&] { BatchIndexSelectDim0(ctx(), args); },
              ThrowsMessage<Error>(HasSubstr("9 elements of inputs; the matrices have 10")));
  args.rows = {2, INT64_MAX};
  EXPECT_THAT([&] { BatchIndexSelectDim0(ctx(), args); },
              ThrowsMessage<Error>(HasSubstr("the matrices have a number beyond 63 bits")));
}

TEST_P(RoutingOpsTest, SlicesAreWindowsOfSegments) {
  const Longs lengths = {3, 0, 2, 5}, start = {1, 0, 4, 2};
  const Tensor values = T({10, 11, 12, 30, 31, 50, 51, 52, 53, 54});
  const Jagged slice = JaggedSlice(ctx(), values, T(lengths, DType::kI32), T(start), 2);
  EXPECT_THAT(ToInt64(slice.values), ElementsAre(11, 12, 52, 53));
  EXPECT_THAT(ToInt64(slice.lengths), ElementsAre(2, 0, 0, 2));
  EXPECT_EQ(slice.lengths.dtype(), DType::kI32);
  testing::ExpectGradients(
      ctx(),
      [&](Context& on, const std::vector<Variable>& in) {
        return std::vector<Variable>{JaggedSlice(on, in[0], T(lengths), T(start), 2).values};
      },
      {testing::RandomTensor(ctx(), {10, 3})});
  if (on_cpu()) {
    EXPECT_THAT(
        [&] {
          JaggedSlice(ctx(), values, T(lengths), T({0, 0, -1, 0}), 2);
        },
        ThrowsMessage<Error>(HasSubstr("start of segment 2")));
  }
}

TEST_P(RoutingOpsTest, IndexAddIsTheTransposeOfIndexSelect) {
  const Longs output = {2, 1, 0, 3}, indices = {3, 0, 3};
  const Tensor values = F({1, 2, 3, 10, 20, 100, 200, 300}).Reshape({8, 1});
  const Variable sum =
      JaggedIndexAdd2d(ctx(), values, T(indices), T({3, 2, 3}), T(output, DType::kI32));
  EXPECT_EQ(sum.shape(), (Shape{6, 1}));
  EXPECT_THAT(Floats(sum), ElementsAre(10, 20, 0, 101, 202, 303));
  testing::ExpectGradients(ctx(),
                           [&](Context& on, const std::vector<Variable>& in) {
                             return std::vector<Variable>{
                                 JaggedIndexAdd2d(on, in[0], T(indices), T({3, 2, 3}), T(output))};
                           },
                           {testing::RandomTensor(ctx(), {8, 2})});
  EXPECT_THAT(
      [&] {
        JaggedIndexAdd2d(ctx(), values, T(indices), T({3, 3, 2}), T(output));
      },
      ThrowsMessage<Error>(HasSubstr("another length than the one that it is added to")));
}

TEST_P(RoutingOpsTest, StackedKeysArePaddedEachToItsOwn) {
  const Tensor lengths = Tensor::From(ctx(), {2, 3}, Longs{1, 0, 2, 3, 1, 0});
  const Tensor values = T({7, 8, 9, 1, 2, 3, 4});
  const auto dense = StackedJagged1dToDense(ctx(), values, lengths, {0, 3, 7}, {2, 3}, -1);
  EXPECT_THAT(ToInt64(dense[0].value().Reshape({6})), ElementsAre(7, -1, -1, -1, 8, 9));
  EXPECT_THAT(ToInt64(dense[1].value().Reshape({9})), ElementsAre(1, 2, 3, 4, -1, -1, -1, -1, -1));
  testing::ExpectGradients(ctx(),
                           [&](Context& on, const std::vector<Variable>& in) {
                             return StackedJagged2dToDense(on, in[0], lengths, {0, 3, 7}, {1, 3});
                           },
                           {testing::RandomTensor(ctx(), {7, 2})});
  EXPECT_THAT(
      [&] {
        StackedJagged1dToDense(ctx(), values, lengths, {0, 7}, {2, 3});
      },
      ThrowsMessage<Error>(HasSubstr("2 keys, 2 offsets, 2 longest lengths")));
}

TEST_P(RoutingOpsTest, UniqueIdsOfATableAreSpreadOverItsBags) {
  for (const DType type : {DType::kI32, DType::kI64})
    for (const int64_t batch : {1, 4}) {
      const Longs groups = {0, 2, 2, 3};  // tables of two features, of none, of one
      const Longs lengths = Random(3 * batch, 4);
      const Longs offsets = HostOffsets(lengths), ids = Random(offsets.back(), 5);
      const JaggedUnique got =
          JaggedUniqueIndices(ctx(), T(groups), T(offsets, DType::kI32), T(ids, type));
      Longs unique, spread;
      for (size_t g = 0; g + 1 < groups.size(); ++g) {
        const auto at = [&](size_t group) {
          return ids.begin() + offsets[static_cast<size_t>(groups[group] * batch)];
        };
        const std::set<int64_t> distinct(at(g), at(g + 1));
        unique.insert(unique.end(), distinct.begin(), distinct.end());
        const int64_t bags = (groups[g + 1] - groups[g]) * batch;
        for (int64_t b = 0; b < bags; ++b)
          spread.push_back((std::ssize(distinct) + bags - 1 - b) / bags);
      }
      EXPECT_EQ(ToInt64(got.indices), unique);
      EXPECT_EQ(got.indices.dtype(), type);
      EXPECT_EQ(ToInt64(got.lengths), spread);
      EXPECT_EQ(ToInt64(got.offsets), HostOffsets(spread));
      const Longs inverse = ToInt64(got.inverse);
      for (size_t i = 0; i < ids.size(); ++i)
        EXPECT_EQ(unique[static_cast<size_t>(inverse[i])], ids[i]);
    }
  EXPECT_THAT(
      [&] {
        JaggedUniqueIndices(ctx(), T({0, 2}), T({0, 1, 2, 3}), T({1, 2, 3}));
      },
      ThrowsMessage<Error>(HasSubstr("3 bags of 2 features")));
}

// Requests of 2, 0 and 1 candidates; two features.
TEST_P(RoutingOpsTest, CandidatesOfRequestsBecomeOneBatch) {
  const Tensor requests = T({0, 2, 2, 3}, DType::kI32);
  const Longs before = {1, 2, 0, 1, 3, 1};  // [r][t][candidate]
  const Tensor lengths = T(before, DType::kI32);
  EXPECT_THAT(ToInt64(ReorderBatchedAdLengths(ctx(), lengths, requests)),
              ElementsAre(1, 2, 3, 0, 1, 1));
  EXPECT_THAT(ToInt64(ReorderBatchedAdLengths(ctx(), lengths, requests, false, 4)),
              ElementsAre(1, 2, 3, 0, 0, 1, 1, 0));
  const Tensor ids = T({10, 20, 21, 40, 50, 51, 52, 60}), offsets = T(HostOffsets(before));
  EXPECT_THAT(ToInt64(ReorderBatchedAdIndices(ctx(), offsets, ids, requests)),
              ElementsAre(10, 20, 21, 50, 51, 52, 40, 60));
  testing::ExpectGradients(ctx(),
                           [&](Context& on, const std::vector<Variable>& in) {
                             return std::vector<Variable>{
                                 ReorderBatchedSequenceEmbeddings(on, offsets, in[0], requests)};
                           },
                           {testing::RandomTensor(ctx(), {8, 3})});

  const Longs shared = {1, 2, 0, 1, 1, 0};  // [r][t]
  EXPECT_THAT(ToInt64(ReorderBatchedAdLengths(ctx(), T(shared), requests, true)),
              ElementsAre(1, 1, 1, 2, 2, 0));
  EXPECT_THAT(ToInt64(ReorderBatchedAdIndices(ctx(), T(HostOffsets(shared)),
                                              T({10, 20, 21, 40, 50}), requests, true)),
              ElementsAre(10, 10, 50, 20, 21, 20, 21));
  EXPECT_THAT(
      [&] {
        ReorderBatchedAdLengths(ctx(), T({1, 2}), requests);
      },
      ThrowsMessage<Error>(HasSubstr("2 bags of 3 candidates")));
  EXPECT_THAT([&] { ReorderBatchedAdLengths(ctx(), lengths, requests, false, 2); },
              ThrowsMessage<Error>(HasSubstr("max_batch_size 2 for 3 candidates")));
  EXPECT_THAT([&] { ReorderBatchedAdLengths(ctx(), lengths, requests, false, int64_t{1} << 62); },
              ThrowsMessage<Error>(HasSubstr("expected 0, or 3 to 2^31 − 1 without broadcast")));
}

TEST_P(RoutingOpsTest, InputsOfTablesAreJoined) {
  const std::vector<TableInput> of_lengths = {{T({1, 2, 3}), T({2, 1})},
                                              {T({4}, DType::kI32), T({0, 1}), F({0.5f})}};
  const CombinedInput joined = TbeInputCombineWithLength(ctx(), of_lengths);
  EXPECT_THAT(ToInt64(joined.indices), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(ToInt64(joined.bags), ElementsAre(2, 1, 0, 1));
  EXPECT_THAT(Floats(joined.weights), ElementsAre(1, 1, 1, 0.5f));
  EXPECT_THAT(ToInt64(TbeInputCombineWithLength(ctx(), of_lengths, 3).bags),
              ElementsAre(2, 1, 0, 0, 1, 0));

  // Complete offsets, with an id behind the last; offsets without their end.
  const std::vector<TableInput> of_offsets = {{T({1, 2, 3, 99}), T({0, 2, 3})},
                                              {T({4, 5}), T({0, 0, 1})}};
  const CombinedInput combined = TbeInputCombine(ctx(), of_offsets, {true, false});
  EXPECT_THAT(ToInt64(combined.indices), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(ToInt64(combined.bags), ElementsAre(0, 2, 3, 3, 4, 5));
  EXPECT_FALSE(combined.weights.defined());
  EXPECT_THAT(ToInt64(TbeInputCombine(ctx(), of_offsets, {true, false}, 4).bags),
              ElementsAre(0, 2, 3, 3, 3, 3, 4, 5, 5));
  EXPECT_THAT(
      [&] {
        TbeInputCombine(ctx(), of_offsets, {true, false}, 2);
      },
      ThrowsMessage<Error>(HasSubstr("table 1: 3 bags, batch_size 2")));
  EXPECT_THAT([&] { TbeInputCombineWithLength(ctx(), {}); },
              ThrowsMessage<Error>(HasSubstr("of no table")));
}

TEST_P(RoutingOpsTest, JoinedInputsKeepTheirIdsAndBags) {
  const int64_t far = (int64_t{1} << 40) + 3;
  const std::vector<TableInput> mixed = {{T({1}, DType::kI32), T({1}, DType::kI32)},
                                         {T({far}), T({1})}};
  EXPECT_THAT(ToInt64(TbeInputCombineWithLength(ctx(), mixed).indices), ElementsAre(1, far));
  if (!on_cpu()) return;  // a device does not look at what follows
  EXPECT_THAT(
      [&] {
        TbeInputCombineWithLength(ctx(), {{T({1, 2}), T({1})}, {T({3}), T({2})}});
      },
      ThrowsMessage<Error>(HasSubstr("table 0: lengths")));
  EXPECT_THAT(
      [&] {
        TbeInputCombine(ctx(), {{T({1, 2}), T({0, 2, 1})}}, {false});
      },
      ThrowsMessage<Error>(HasSubstr("offsets fall from 2 to 1")));
}

TEST_P(RoutingOpsTest, BottomKIsTheFirstOfEachRow) {
  const Tensor rows = Tensor::From(ctx(), {2, 4}, Longs{5, 1, 5, 3, 2, 2, 2, 9});
  EXPECT_THAT(ToInt64(BottomKPerRow(ctx(), rows, T({0, 2}), true)), ElementsAre(1, 5, 2, 9));
  EXPECT_THAT(ToInt64(BottomKPerRow(ctx(), rows, T({0, 2}), false)), ElementsAre(5, 1, 2, 2));
  EXPECT_THAT(ToInt64(BottomKPerRow(ctx(), rows, T({0, 3, 3}), true)), ElementsAre(1, 3, 5));
  EXPECT_THAT(
      [&] {
        BottomKPerRow(ctx(), rows, T({0, 3}), true);
      },
      ThrowsMessage<Error>(HasSubstr("row 1 has 2 distinct numbers, but 3 are asked for")));
  EXPECT_THAT(
      [&] {
        BottomKPerRow(ctx(), rows, T({INT64_MAX, INT64_MIN}), false);
      },
      ThrowsMessage<Error>(HasSubstr("at row 0; expected 0 to ")));
}

TEST_P(RoutingOpsTest, BucketsOfIdsGiveThePermutation) {
  const Longs lengths = Random(6, 5), ids = Random(HostOffsets(lengths).back(), 40);
  const Bucketized sent = BlockBucketizeSparseFeatures(ctx(), {.lengths = T(lengths),
                                                               .indices = T(ids),
                                                               .block_sizes = T({10, 7}),
                                                               .my_size = 3,
                                                               .sequence = true,
                                                               .bucket_mapping = true});
  const Longs buckets = ToInt64(sent.bucket_mapping), offsets = HostOffsets(lengths);
  for (size_t i = 0; i < ids.size(); ++i) {
    const bool second = static_cast<int64_t>(i) >= offsets[3];
    const int64_t k = second ? 7 : 10;
    EXPECT_EQ(buckets[i], ids[i] < 3 * k ? ids[i] / k : ids[i] % 3) << i;
  }
  EXPECT_EQ(
      ToInt64(PopulateBucketizedPermute(ctx(), T(lengths), sent.lengths, sent.bucket_mapping)),
      ToInt64(sent.unbucketize_permute));
  const Bucketized alone = BlockBucketizeSparseFeatures(ctx(), {.lengths = T(lengths),
                                                                .indices = T(ids),
                                                                .block_sizes = T({10, 7}),
                                                                .my_size = 3,
                                                                .bucket_mapping = true});
  EXPECT_FALSE(alone.unbucketize_permute.defined());
  EXPECT_EQ(ToInt64(alone.bucket_mapping), buckets);
}

TESSERA_INSTANTIATE_DEVICES(RoutingOpsTest);

}  // namespace
}  // namespace tessera
