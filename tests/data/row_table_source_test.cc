#include "data/row_table_source.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/train/testing/files.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using Batches = std::vector<std::vector<int64_t>>;

// Row n has the number n as its label, and no features.
class Numbered final : public RowTable {
 public:
  explicit Numbered(int64_t rows) : rows_(rows) {}
  int64_t rows() const override { return rows_; }
  Batch Gather(Context& ctx, std::span<const int64_t> rows) const override {
    const auto count = static_cast<int64_t>(rows.size());
    Batch batch;
    batch.dense = Tensor::Zeros(ctx, {count, 1});
    batch.labels = Tensor::Empty(ctx, {count});
    std::copy(rows.begin(), rows.end(), batch.labels.data<float>());
    batch.features =
        KeyedJaggedTensor::FromLengthsSync({"f"}, Tensor::Zeros(ctx, {count}, DType::kI64),
                                           Tensor::Full(ctx, {count}, 1, DType::kI32));
    return batch;
  }

 private:
  int64_t rows_;
};

std::vector<int64_t> RowsOf(const Batch& batch) {
  const auto labels = batch.labels.span<float>();
  return {labels.begin(), labels.end()};
}

Batches Read(int64_t rows, const RowTableSourceOptions& options) {
  RowTableSource source(std::make_shared<Numbered>(rows), options);
  Batches batches;
  while (const auto batch = source.Next()) batches.push_back(RowsOf(*batch));
  return batches;
}

TEST(RowTableSource, BatchesSayWhereTheyAre) {
  RowTableSource source(std::make_shared<Numbered>(20),
                        {.batch_size = 4, .range = {5, 15}, .first_place = 9});
  const auto first = source.Next(), last = source.Next();
  EXPECT_EQ(RowsOf(*first), (std::vector<int64_t>{9, 10, 11, 12}));
  EXPECT_EQ(first->first_row, 9);
  EXPECT_EQ(first->end_row, 13);
  EXPECT_DOUBLE_EQ(first->fraction.value(), 0.8);
  EXPECT_EQ(first->rows_of_all, 0);
  EXPECT_EQ(RowsOf(*last), (std::vector<int64_t>{13, 14}));
  EXPECT_FALSE(source.Next());
  EXPECT_FALSE(source.Next());
}

TEST(RowTableSource, DropsWhatIsNotFull) {
  EXPECT_EQ(Read(10, {.batch_size = 4}), (Batches{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}}));
  EXPECT_EQ(Read(10, {.batch_size = 4, .drop_last = true}), (Batches{{0, 1, 2, 3}, {4, 5, 6, 7}}));
}

TEST(RowTableSource, PartsMakeTheBatch) {
  for (const int ranks : {2, 3, 5}) {
    const RowTableSourceOptions whole{.batch_size = 7, .shuffle = ShuffleOptions{.seed = 2}};
    Batches joined(Read(31, whole).size());
    for (int rank = 0; rank < ranks; ++rank) {
      RowTableSourceOptions options = whole;
      options.rank = rank;
      options.ranks = ranks;
      const Batches mine = Read(31, options);
      ASSERT_EQ(mine.size(), joined.size());
      for (size_t b = 0; b < mine.size(); ++b)
        joined[b].insert(joined[b].end(), mine[b].begin(), mine[b].end());
    }
    EXPECT_EQ(joined, Read(31, whole)) << ranks;
  }
}

TEST(RowTableSource, APartKnowsTheWhole) {
  RowTableSource source(std::make_shared<Numbered>(10), {.batch_size = 9, .rank = 3, .ranks = 4});
  const auto first = source.Next(), last = source.Next();
  EXPECT_EQ(first->whole_size(), 9);
  EXPECT_EQ(RowsOf(*first), (std::vector<int64_t>{6, 7, 8}));
  EXPECT_EQ(last->whole_size(), 1);
  EXPECT_EQ(last->size(), 1);
  RowTableSource other(std::make_shared<Numbered>(10), {.batch_size = 9, .rank = 0, .ranks = 4});
  other.Next();
  EXPECT_EQ(other.Next()->size(), 0);
}

// Expected: TorchRec 1.9.2, InMemoryBinaryCriteoIterDataPipe over two files of 7 and 10 rows.
TEST(RowTableSource, WholeBatchesGoRoundTheRanksAsInTorchRec) {
  struct Case {
    int64_t batch_size;
    bool drop_last;
    std::vector<Batches> of_ranks;
  };
  for (const Case& c : {
           Case{3,
                false,
                {{{0, 1, 2}, {6, 7, 8}, {12, 13, 14}}, {{3, 4, 5}, {9, 10, 11}, {15, 16}}}},
           Case{4, false, {{{0, 1, 2, 3}, {8, 9, 10, 11, 12}}, {{4, 5, 6, 7}, {13, 14, 15, 16}}}},
           Case{4, true, {{{0, 1, 2, 3}, {8, 9, 10, 11}}, {{4, 5, 6, 7}, {12, 13, 14, 15}}}},
           Case{8, false, {{{0, 1, 2, 3, 4, 5, 6, 7, 8}}, {{9, 10, 11, 12, 13, 14, 15, 16}}}},
           Case{2,
                false,
                {{{0, 1}, {8, 9, 10}}, {{2, 3}, {11, 12}}, {{4, 5}, {13, 14}}, {{6, 7}, {15, 16}}}},
           Case{5, false, {{{0, 1, 2, 3, 4, 5}}, {{6, 7, 8, 9, 10, 11}}, {{12, 13, 14, 15, 16}}}},
           Case{2,
                false,
                {{{0, 1}, {6, 7}, {12, 13}}, {{2, 3}, {8, 9}, {14, 15}}, {{4, 5}, {10, 11}, {16}}}},
           Case{3, true, {{{0, 1, 2}}, {{3, 4, 5}}, {{6, 7, 8}}}},
           Case{8, true, {{{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}}}},
       }) {
    const int ranks = static_cast<int>(c.of_ranks.size());
    for (int rank = 0; rank < ranks; ++rank)
      EXPECT_EQ(Read(17, {.batch_size = c.batch_size,
                          .drop_last = c.drop_last,
                          .rank = rank,
                          .ranks = ranks,
                          .share = RankShare::kWholeBatches}),
                c.of_ranks[static_cast<size_t>(rank)])
          << c.batch_size << " on " << rank << " of " << ranks;
  }
}

TEST(RowTableSource, GoesOnFromAnyBatch) {
  for (const RankShare share : {RankShare::kPartOfBatch, RankShare::kWholeBatches}) {
    RowTableSourceOptions options{
        .batch_size = 4,
        .range = {2, 33},
        .shuffle = ShuffleOptions{.seed = 1, .window_rows = 8, .block_rows = 2},
        .epoch = 2,
        .shuffle_batches = true,
        .rank = 1,
        .ranks = 2,
        .share = share};
    const Batches all = Read(40, options);
    RowTableSource source(std::make_shared<Numbered>(40), options);
    for (size_t b = 0; b < all.size(); ++b) {
      options.first_place = source.Next()->end_row;
      EXPECT_EQ(Read(40, options), Batches(all.begin() + static_cast<int64_t>(b) + 1, all.end()));
    }
  }
}

TEST(RowTableSource, ShuffledBatchesHoldTheSameRows) {
  Batches shuffled = Read(12, {.batch_size = 6, .shuffle_batches = true});
  const Batches plain = Read(12, {.batch_size = 6});
  EXPECT_NE(shuffled, plain);
  for (auto& batch : shuffled) std::sort(batch.begin(), batch.end());
  EXPECT_EQ(shuffled, plain);
}

TEST(RowTableSource, RangesBeyondTheDataAreErrors) {
  EXPECT_EQ(ErrorOf([&] {
              Read(30, {.batch_size = 1, .range = {3, 31}});
            }),
            "rows 3:31 were asked for, but the data has 30 rows");
  EXPECT_EQ(ErrorOf([&] { Read(1, {.batch_size = 1, .range = {3}}); }),
            "rows 3: were asked for, but the data has 1 row");
  EXPECT_EQ(ErrorOf([&] { Read(30, {.batch_size = 1, .range = {31}}); }),
            "rows 31: were asked for, but the data has 30 rows");
  EXPECT_EQ(ErrorOf([&] {
              Read(30, {.batch_size = 1, .range = {0, 20}, .first_place = 21});
            }),
            "row 21 was asked for, but the rows are 0:20");
  EXPECT_TRUE(Read(30, {.batch_size = 1, .range = {30}}).empty());
}

}  // namespace
}  // namespace tessera
