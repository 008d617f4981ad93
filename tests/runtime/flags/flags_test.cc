#include "runtime/flags/flags.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/testing/error_of.h"

namespace tessera::internal {
namespace {

using testing::ErrorOf;

struct Values {
  bool whole = true;
  int rounds = 3;
  double rate = 1;
  std::vector<int64_t> sizes = {1, 2};
  std::vector<std::string> paths = {};
};

// The values that a program reads from these words; false where it ends.
bool Read(std::vector<std::string> words, Values& v, const std::string& whose = "") {
  ProgramFlags flags("Reads values");
  flags.Add("--rounds", v.rounds, "timed rounds").Within(NumbersFrom(1));
  flags.Add("--rate", v.rate, "a second").Within(NumbersFrom(0.5, 2.0));
  flags.Add("--sizes", v.sizes, "bytes").Delimiter(',');
  flags.Add("!--part", v.whole, "only a part");
  flags.Add("paths", v.paths, "files").Required();
  words.insert(words.begin(), "program");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  return flags.Parse(static_cast<int>(argv.size()), argv.data(), whose);
}

std::string Mistake(const std::vector<std::string>& words, const std::string& whose = "") {
  Values v;
  return ErrorOf([&] { Read(words, v, whose); });
}

TEST(ProgramFlags, ReadALine) {
  Values v;
  ASSERT_TRUE(Read({"--sizes=4,5,6", "--rounds", "7", "a", "b", "--part"}, v));
  EXPECT_EQ(v.rounds, 7);
  EXPECT_EQ(v.rate, 1);
  EXPECT_EQ(v.sizes, (std::vector<int64_t>{4, 5, 6}));
  EXPECT_FALSE(v.whole);
  EXPECT_EQ(v.paths, (std::vector<std::string>{"a", "b"}));
}

TEST(ProgramFlags, PrintHelpWithDefaults) {
  Values v;
  ::testing::internal::CaptureStdout();
  EXPECT_FALSE(Read({"--help"}, v));
  const std::string help = ::testing::internal::GetCapturedStdout();
  for (const char* text : {"Reads values", "--rounds INT=3", "timed rounds", "--part"})
    EXPECT_NE(help.find(text), std::string::npos) << text << " is not in:\n" << help;
}

TEST(ProgramFlags, SayWhatIsWrong) {
  EXPECT_EQ(Mistake({"a", "--rounds", "0"}),
            "--rounds: expected a whole number of at least 1, got '0' (see --help)");
  EXPECT_EQ(Mistake({"a", "--rate", "3"}),
            "--rate: expected a number from 0.5 to 2, got '3' (see --help)");
  EXPECT_EQ(Mistake({"a", "--rate", "1", "--rate", "2"}),
            "--rate is given twice: expected once (see --help)");
  EXPECT_EQ(Mistake({"a", "--rounds"}),
            "--rounds: expected INT behind it, got nothing (see --help)");
  EXPECT_EQ(Mistake({}), "paths is required (see --help)");
  EXPECT_EQ(Mistake({"a", "--epochs", "--x"}), "--epochs --x: not expected (see --help)");
  EXPECT_EQ(Mistake({"a", "--epochs"}, "a lookup"), "--epochs: not expected by a lookup");
}

}  // namespace
}  // namespace tessera::internal
