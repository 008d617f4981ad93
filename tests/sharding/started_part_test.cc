// Tensors of which files hold the rows that have started, and the index that says which these are.
#include "sharding/checkpoint/started_part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "runtime/base/check.h"
#include "sharding/checkpoint/checkpoint_index.h"
#include "sharding/plan/plan_makers.h"

namespace tessera {
namespace {

constexpr int64_t kRows = 50, kColumns = 3;
const Shard kShard{0, 100, 8, kRows, kColumns};
const StartedRows kStarted{
    {.low = -1, .high = 1, .seed = 5, .sequence = 2, .first = 100 * 16 + 8, .row_elements = 16},
    {{0, 1}, {7, 20}, {49, 50}}};

// Reads the packed rows, whose number i is i, and checks that no call leaves them.
ReadStarted PackedOf(const std::vector<float>& packed) {
  return [&packed](int64_t begin, int64_t count, void* out) {
    ASSERT_LE(begin + count, static_cast<int64_t>(packed.size() * sizeof(float)));
    std::memcpy(out, reinterpret_cast<const char*>(packed.data()) + begin,
                static_cast<size_t>(count));
  };
}

std::vector<float> Numbered(int64_t count) {
  std::vector<float> numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(static_cast<float>(i));
  return numbers;
}

// The whole tensor: started rows are packed ones, in order; others are those of FillStart, or 0.
std::vector<float> Whole(const std::vector<float>& packed, int64_t columns, bool weights) {
  Context ctx({.threads = 1, .seed = kStarted.start.seed});
  const Tensor start = Tensor::Zeros(ctx, {kRows, columns});
  if (weights) FillStart(ctx, kStarted.start, 0, start);
  std::vector<float> whole = start.ToVector<float>();
  auto from = packed.begin();
  for (const RunOfRows& run : kStarted.runs)
    for (int64_t i = run.begin * columns; i < run.end * columns; ++i)
      whole[static_cast<size_t>(i)] = *from++;
  EXPECT_EQ(from, packed.end());
  return whole;
}

void ReadsAnyBytes(const StoredPart& part, const std::vector<float>& whole) {
  const auto* bytes = reinterpret_cast<const char*>(whole.data());
  const auto size = static_cast<int64_t>(whole.size() * sizeof(float));
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    const int64_t begin = static_cast<int64_t>(random()) % size,
                  count = static_cast<int64_t>(random()) % (size - begin + 1);
    std::vector<char> got(static_cast<size_t>(count));
    part.read(begin, count, got.data());
    ASSERT_EQ(std::memcmp(got.data(), bytes + begin, got.size()), 0) << begin << " " << count;
  }
}

TEST(StartedPart, GivesAllRows) {
  const std::vector<float> weights = Numbered(15 * kColumns), state = Numbered(15);
  ReadsAnyBytes(WeightsOfAllRows(kShard, kStarted, DType::kF32, PackedOf(weights)),
                Whole(weights, kColumns, /*weights=*/true));
  ReadsAnyBytes(StateOfAllRows(kShard, kStarted, sizeof(float), PackedOf(state)),
                Whole(state, 1, /*weights=*/false));
}

// An index of one table by rows over two ranks, the second of which has started `runs`.
CheckpointIndex IndexOf(const std::vector<RunOfRows>& runs) {
  CheckpointIndex index;
  index.save = 1;
  const std::vector<TableShape> tables = {{"t0", 100, 16}};
  index.info.plan = MakeShardingPlan({2, 2}, tables, {{"t0", RowWise()}});
  index.info.tables = {{tables[0], "p.t0.weight", "sgd"}};
  index.files = {{"save-1-rank-0.safetensors", 1000}, {"save-1-rank-1.safetensors", 2000}};
  for (const Shard& shard : index.info.plan.tables.at("t0").shards)
    index.tables["t0"].shards.push_back(
        {.file = shard.rank, .shard = shard, .checksums = {{"weight", "0123abcd"}}});
  const RowStart start{.low = -0.1f, .high = 0.3f, .seed = ~uint64_t{0}, .sequence = 1ULL << 63};
  index.tables["t0"].shards[1].started = {start, runs};
  return index;
}

TEST(StartedPart, TheIndexNamesItsRows) {
  const std::vector<RunOfRows> runs = {{0, 3}, {4, 50}};
  const CheckpointIndex read = IndexFromJson(IndexToJson(IndexOf(runs)), "index.json");
  const std::vector<StoredShard>& shards = read.tables.at("t0").shards;
  EXPECT_FALSE(shards.at(0).started);
  EXPECT_EQ(shards.at(0).rows_in_file(), 50);
  EXPECT_EQ(shards.at(1).started->runs, runs);
  EXPECT_EQ(shards.at(1).rows_in_file(), 49);
  RowStart start = IndexOf(runs).tables.at("t0").shards[1].started->start;
  start.first = 50 * 16;
  start.row_elements = 16;
  EXPECT_EQ(shards.at(1).started->start, start);
}

TEST(StartedPart, AnIndexOfBadRowsIsRefused) {
  using Runs = std::vector<RunOfRows>;
  for (const Runs& runs :
       {Runs{{-1, 3}}, Runs{{3, 3}}, Runs{{0, 51}}, Runs{{0, 3}, {3, 5}}, Runs{{4, 6}, {0, 2}}}) {
    const std::string text = IndexToJson(IndexOf(runs));
    EXPECT_THAT([&] { IndexFromJson(text, "index.json"); },
                testing::ThrowsMessage<Error>(testing::AllOf(
                    testing::HasSubstr("index.json"), testing::HasSubstr("t0.shards[1].rows["),
                    testing::HasSubstr("within 50"))));
  }
}

TEST(StartedPart, RunsAreJoined) {
  using Runs = std::vector<RunOfRows>;
  EXPECT_EQ(JoinedRuns({{0, 2}, {5, 9}}, {{1, 3}, {9, 10}, {20, 21}}),
            (Runs{{0, 3}, {5, 10}, {20, 21}}));
  EXPECT_EQ(JoinedRuns({}, {}), Runs());
}

}  // namespace
}  // namespace tessera
