#include "data/read_ahead.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

namespace tessera {
namespace {

// Batches with first_row 0, 1, 2, …; after `batches` of them the end, or an error.
class Counter final : public DataSource {
 public:
  Counter(int64_t batches, bool fails, std::atomic<int64_t>* calls = nullptr)
      : batches_(batches), fails_(fails), calls_(calls) {}
  std::optional<Batch> Next() override {
    if (calls_ != nullptr) ++*calls_;
    if (next_ == batches_ && fails_) throw Error("the disk is on fire");
    if (next_ == batches_) return std::nullopt;
    Batch batch;
    batch.first_row = next_++;
    return batch;
  }
  int64_t skipped_rows() const override { return 10 * next_; }

 private:
  const int64_t batches_;
  const bool fails_;
  std::atomic<int64_t>* const calls_;
  int64_t next_ = 0;
};

class Depths : public testing::TestWithParam<int64_t> {};

TEST_P(Depths, GiveAllBatchesInOrder) {
  ReadAhead source(std::make_unique<Counter>(100, false), GetParam());
  for (int64_t i = 0; i < 100; ++i) {
    const auto batch = source.Next();
    ASSERT_TRUE(batch);
    EXPECT_EQ(batch->first_row, i);
    EXPECT_EQ(source.skipped_rows(), 10 * (i + 1));
  }
  EXPECT_FALSE(source.Next());
  EXPECT_FALSE(source.Next());
}

TEST_P(Depths, ErrorsComeAfterTheBatchesBeforeThem) {
  ReadAhead source(std::make_unique<Counter>(5, true), GetParam());
  for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(source.Next()->first_row, i);
  EXPECT_THROW(source.Next(), Error);
  EXPECT_THROW(source.Next(), Error);
}

TEST_P(Depths, StoppingEarlyDoesNotHang) {
  for (int64_t taken = 0; taken < 4; ++taken) {
    ReadAhead source(std::make_unique<Counter>(int64_t{1} << 40, false), GetParam());
    for (int64_t i = 0; i < taken; ++i) source.Next();
  }
  ReadAhead failing(std::make_unique<Counter>(0, true), GetParam());
}
INSTANTIATE_TEST_SUITE_P(All, Depths, testing::Values(1, 2, 16));

TEST(ReadAhead, IsBounded) {
  std::atomic<int64_t> calls = 0;
  ReadAhead source(std::make_unique<Counter>(1000, false, &calls), 4);
  source.Next();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_LE(calls.load(), 1 + 4 + 1);  // taken, queued, waiting for room
}

TEST(ReadAhead, NeedsDepth) {
  EXPECT_THROW(ReadAhead(std::make_unique<Counter>(1, false), 0), Error);
}

}  // namespace
}  // namespace tessera
