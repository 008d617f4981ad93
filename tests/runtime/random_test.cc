#include "runtime/numbers/random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

// Known answers of the authors' Random123 (kat_vectors, philox4x32 10): counter words 0–1 are our
// counter, 2–3 our sequence.
TEST(Philox, GivesThePublishedAnswers) {
  const PhiloxBits zero = Philox(0, 0, 0);
  EXPECT_THAT(zero.v, ::testing::ElementsAre(0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u));
  const PhiloxBits ones = Philox(~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0});
  EXPECT_THAT(ones.v, ::testing::ElementsAre(0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu));
  const PhiloxBits pi = Philox(0x299f31d0a4093822u, 0x0370734413198a2eu, 0x85a308d3243f6a88u);
  EXPECT_THAT(pi.v, ::testing::ElementsAre(0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u));
}

TEST(Philox, UniformNumbersStayBelowOne) {
  EXPECT_EQ(UniformFloat(0), 0.0f);
  EXPECT_LT(UniformFloat(~0u), 1.0f);
  EXPECT_LT(UniformDouble(~0u, ~0u), 1.0);
}

TEST(Random, ContinuesFromACheckpoint) {
  Random random(7);
  EXPECT_EQ(random.TakeSequence(), 0u);
  EXPECT_EQ(random.TakeSequence(), 1u);
  Random resumed(random.seed(), random.next_sequence());
  EXPECT_EQ(resumed.TakeSequence(), 2u);
}

}  // namespace
}  // namespace tessera
