#include "embedding/managed_collision/index/frequency_sketch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "embedding/lookup/row_ops.h"
#include "tests/embedding/managed_collision/raw_ids.h"

namespace tessera {
namespace {

using testing::RawIds;

TEST(FrequencySketchTest, NeverCountsTooFewUntilALineIsHalved) {
  internal::FrequencySketch sketch(1 << 16, /*admit_after=*/2);
  std::map<int64_t, int64_t> counts;
  RawIds random(3);
  int64_t exact = 0;
  constexpr int kAdds = 16 * 1000;  // of 1,024 lines the last few keep all
  for (int i = 0; i < kAdds; ++i) {
    const int64_t id = random.Below(500);
    const uint64_t hash = MixBits(static_cast<uint64_t>(id) + 1);
    const int64_t estimate = sketch.Add(hash);
    ++counts[id];
    if ((hash >> 16 & 1023) > 1000 || (hash >> 16 & 1023) == 0) {
      ASSERT_GE(estimate, counts[id]);
      exact += estimate == counts[id];
    }
  }
  EXPECT_GT(exact, 100);
}

TEST(FrequencySketchTest, CountsFadeAndStopAtAByte) {
  internal::FrequencySketch sketch(64, /*admit_after=*/4);
  for (int i = 0; i < 15; ++i) EXPECT_EQ(sketch.Add(5), i + 1);
  sketch.Fade();
  EXPECT_EQ(sketch.Add(5), 16);
  sketch.Fade();
  EXPECT_EQ(sketch.Add(5), 9);
  internal::FrequencySketch large(1 << 20, /*admit_after=*/2);
  for (int i = 0; i < 400; ++i) EXPECT_EQ(large.Add(0xffff0000), std::min(i + 1, 255));
}

// One of 101 ids that come in turn, of which 100 never come again.
TEST(FrequencySketchTest, AnIdAmongOthersComesToAnyAdmitAfter) {
  for (const int64_t admit_after : {3, 6, 20, 100, 255}) {
    internal::FrequencySketch sketch(1 << 14, admit_after);  // 4 bytes for each of 4,096 rows
    int64_t most = 0, most_of_others = 0;
    uint64_t id = 1;
    for (int64_t batch = 0; batch < 2 * admit_after; ++batch, sketch.Fade()) {
      most = std::max(most, sketch.Add(MixBits(uint64_t{1})));
      for (int i = 0; i < 100; ++i)
        most_of_others = std::max(most_of_others, sketch.Add(MixBits(++id)));
    }
    EXPECT_GE(most, admit_after);
    EXPECT_LT(most_of_others, std::max<int64_t>(4, admit_after / 2)) << admit_after;
  }
}

}  // namespace
}  // namespace tessera
