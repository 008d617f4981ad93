#include "data/preprocess/contiguous_ids.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "runtime/numbers/random.h"

namespace tessera {
namespace {

std::vector<int64_t> Numbered(const std::vector<int64_t>& ids, const ContiguousIdsOptions& options,
                              ContiguousIdsReport* report = nullptr) {
  std::vector<int64_t> out(ids.size());
  const ContiguousIdsReport r = MakeContiguous(ids, out, options);
  if (report != nullptr) *report = r;
  return out;
}

// The ids by TorchRec's loop.
std::vector<int64_t> Expected(const std::vector<int64_t>& ids, int64_t threshold) {
  std::map<int64_t, int64_t> frequency, number;
  for (const int64_t id : ids) ++frequency[id];
  int64_t next = 2;
  std::vector<int64_t> out;
  for (const int64_t id : ids) {
    if (!number.contains(id)) number[id] = threshold > 1 && frequency[id] < threshold ? 1 : next++;
    out.push_back(number[id]);
  }
  return out;
}

std::vector<int64_t> RandomIds(int64_t count, int64_t distinct) {
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < count; ++i) {
    const PhiloxBits bits = Philox(4, 0, static_cast<uint64_t>(i));
    const double u = UniformDouble(bits.v[0], bits.v[1]);
    ids.push_back(static_cast<int64_t>(u * u * static_cast<double>(distinct)) * 7919 - 100000);
  }
  return ids;
}

TEST(ContiguousIds, TheExampleOfTorchRec) {
  ContiguousIdsReport report;
  EXPECT_EQ(Numbered({10, 20, 20, 30}, {.frequency_threshold = 2}, &report),
            (std::vector<int64_t>{1, 2, 2, 1}));
  EXPECT_EQ(report.distinct, 3);
  EXPECT_EQ(report.kept, 1);
  EXPECT_EQ(report.table_rows(), 3);
  EXPECT_EQ(Numbered({5, 5, 6, 5}, {.frequency_threshold = 2}), (std::vector<int64_t>{2, 2, 1, 2}));
}

TEST(ContiguousIds, AreThoseOfTheObviousLoop) {
  for (const int64_t threshold : {0, 1, 2, 3, 10})
    for (const int64_t distinct : {1, 50, 3000})
      EXPECT_EQ(Numbered(RandomIds(5000, distinct), {.frequency_threshold = threshold}),
                Expected(RandomIds(5000, distinct), threshold))
          << threshold << " " << distinct;
  EXPECT_TRUE(Numbered({}, {}).empty());
}

TEST(ContiguousIds, LittleMemoryMeansMoreRoundsAndEqualNumbers) {
  const auto ids = RandomIds(300000, 200000);
  ContiguousIdsReport report;
  EXPECT_EQ(Numbered(ids, {.frequency_threshold = 2, .memory_bytes = 1 << 20}, &report),
            Expected(ids, 2));
  EXPECT_GT(report.rounds, 1);
  ContiguousIdsReport at_once;
  Numbered(ids, {.frequency_threshold = 2}, &at_once);
  EXPECT_EQ(at_once.rounds, 1);
  EXPECT_EQ(at_once.distinct, report.distinct);
  EXPECT_EQ(at_once.kept, report.kept);
  EXPECT_EQ(at_once.hash, report.hash);
}

TEST(ContiguousIds, AHashTellsNumberingsApart) {
  const auto hash = [](const std::vector<int64_t>& ids, int64_t threshold) {
    ContiguousIdsReport report;
    Numbered(ids, {.frequency_threshold = threshold}, &report);
    return report.hash;
  };
  EXPECT_EQ(hash({5, 5, 6, 6, 7}, 2), hash({8, 5, 6, 6, 5}, 2));  // 5 is 2, and 6 is 3
  EXPECT_NE(hash({5, 5, 6, 6, 7}, 2), hash({6, 6, 5, 5, 7}, 2));
  EXPECT_NE(hash({5, 5, 6, 6, 7}, 2), hash({5, 5, 6, 6, 7}, 1));
}

}  // namespace
}  // namespace tessera
