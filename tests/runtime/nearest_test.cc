#include "runtime/base/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

const std::vector<std::string> kNames = {"train", "runs", "batch_size", "accumulate_steps"};

TEST(Nearest, TwoLettersMayDiffer) {
  EXPECT_EQ(Nearest("trian", kNames), "train");  // letters that changed places count two
  EXPECT_EQ(Nearest("trai", kNames), "train");
  EXPECT_EQ(Nearest("trainer", kNames), "train");
  EXPECT_EQ(Nearest("trainers", kNames), "");
  EXPECT_EQ(Nearest("train", kNames), "train");
}

TEST(Nearest, AThirdOfALongWordMayDiffer) {
  EXPECT_EQ(Nearest("accum_steps", kNames), "");  // 5 of 11 letters
  EXPECT_EQ(Nearest("acumulated_stps", kNames), "accumulate_steps");
  EXPECT_EQ(Nearest("batchsize", kNames), "batch_size");
}

TEST(Nearest, HalfOfAShortWordStays) {
  const std::vector<std::string> names = {"lr", "rows", "mean"};
  EXPECT_EQ(Nearest("max", names), "");
  EXPECT_EQ(Nearest("rl", names), "lr");  // letters that changed places
  EXPECT_EQ(Nearest("zz", names), "");
  EXPECT_EQ(Nearest("lx", names), "lr");
  EXPECT_EQ(Nearest("x", names), "");
}

TEST(Nearest, ErrorsNameIt) {
  EXPECT_EQ(DidYouMean("trian", kNames), " (did you mean 'train'?)");
  EXPECT_EQ(DidYouMean("trainers", kNames), "");
  const std::vector<std::string> names = {"sgd", "adam"};
  EXPECT_EQ(NoneIsCalled("optimizer", "adm", names),
            "no optimizer is called 'adm' (did you mean 'adam'?); there are sgd, adam");
  EXPECT_EQ(NoneIsCalled("optimizer", "lion", names),
            "no optimizer is called 'lion'; there are sgd, adam");
}

TEST(Nearest, TheMostThatMayDifferMayBeGiven) {
  EXPECT_EQ(Nearest("acumulated_stps", kNames, 2), "");
  EXPECT_EQ(Nearest("acumulated_stps", kNames, 3), "accumulate_steps");
  EXPECT_EQ(Nearest("train", kNames, 0), "train");
}

TEST(Nearest, TheFewestChangesCountAndThenTheFirstName) {
  const std::vector<std::string> names = {"cat_10", "cat_1", "cat_2"};
  EXPECT_EQ(Nearest("cat_2", names), "cat_2");
  EXPECT_EQ(Nearest("cat_3", names), "cat_1");
}

TEST(Nearest, NothingIsNearWhereThereIsNothing) {
  EXPECT_EQ(Nearest("train", {}), "");
  EXPECT_EQ(Nearest("", kNames), "");
}

}  // namespace
}  // namespace tessera
