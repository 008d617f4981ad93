#include "tests/fuzz/mutator.h"

#include <gtest/gtest.h>

#include <set>

namespace tessera::fuzz {
namespace {

TEST(Mutator, MakesTheSameBadInputsAgain) {
  const Mutator a({"{\"rows\": 50}", "[1, 2]"}), b({"{\"rows\": 50}", "[1, 2]"});
  std::set<std::string> made;
  for (uint64_t round = 0; round < 1000; ++round) {
    EXPECT_EQ(a.Make(round), b.Make(round));
    made.insert(a.Make(round));
  }
  EXPECT_GT(made.size(), 800u);
  EXPECT_TRUE(made.count("{\"rows\": -1}") == 1 || made.count("{\"rows\": 0}") == 1);
}

TEST(Mutator, TakesAnEmptyInput) {
  const Mutator mutator({""});
  for (uint64_t round = 0; round < 100; ++round) EXPECT_LE(mutator.Make(round).size(), 1000u);
}

}  // namespace
}  // namespace tessera::fuzz
