#include "bench/inputs/bag_lengths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/files/line_reader.h"
#include "data/files/npy.h"
#include "runtime/base/check.h"
#include "runtime/files/files.h"
#include "tests/bench/inputs/distributions.h"

namespace tessera::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::string FileOf(const std::string& name, const std::string& text) {
  const std::string path = ::testing::TempDir() + "/" + name;
  ReplaceTextFile(path, text);
  return path;
}

std::string NpyOf(const std::string& name, DType type, const void* numbers, int64_t count) {
  const std::string path = ::testing::TempDir() + "/" + name;
  NpyWriter writer(path, type, count);
  writer.Append(numbers);
  writer.Prepare();
  writer.Finish();
  return path;
}

std::vector<int64_t> Drawn(const std::string& text, int64_t bags = 100'000) {
  Draws draws(5, 0);
  return DrawLengths(ParseBagLengths(text), bags, draws);
}

double Mean(const std::vector<int64_t>& lengths) {
  double sum = 0;
  for (const int64_t length : lengths) sum += static_cast<double>(length);
  return sum / static_cast<double>(lengths.size());
}

TEST(BagLengthsTest, ANumberIsEveryBagsLength) {
  EXPECT_EQ(Drawn("20", 3), (std::vector<int64_t>{20, 20, 20}));
  EXPECT_EQ(Drawn("0", 1), (std::vector<int64_t>{0}));
  EXPECT_TRUE(Drawn("amazon", 0).empty());
}

TEST(BagLengthsTest, PoissonLengthsFollowTheLaw) {
  for (const double mean : {0.5, 20.0}) {
    std::vector<double> up_to;
    double term = std::exp(-mean), sum = 0;
    for (int k = 0; k < 200; term *= mean / ++k) up_to.push_back(sum += term);
    EXPECT_LT(KsOfLengths(Drawn(Format("poisson:{}", mean)),
                          [&](int64_t length) { return up_to[static_cast<size_t>(length)]; }),
              0.01);
  }
  EXPECT_EQ(Mean(Drawn("poisson:0", 100)), 0);
}

TEST(BagLengthsTest, ARangeIsUniformWithItsEnds) {
  EXPECT_LT(KsOfLengths(Drawn("range:3-12"),
                        [](int64_t length) { return static_cast<double>(length - 2) / 10; }),
            0.01);
}

TEST(BagLengthsTest, AmazonsLengthsFollowTheTable) {
  const std::vector<int64_t> lengths = Drawn("amazon");
  EXPECT_LT(KsOfLengths(lengths, [](int64_t x) { return AmazonBagsUpTo(static_cast<double>(x)); }),
            0.01);
  EXPECT_NEAR(Mean(lengths), 11.46, 0.3);
}

TEST(BagLengthsTest, StretchedLengthsHaveTheMean) {
  EXPECT_NEAR(Mean(Drawn("amazon:40")), 40, 1.5);
  EXPECT_NEAR(Mean(Drawn("meta2021")), 8.35, 0.6);
  EXPECT_NEAR(Mean(Drawn("meta2022")), 13.6, 0.7);
}

TEST(BagLengthsTest, TheSameSeedGivesTheSameLengths) {
  EXPECT_EQ(Drawn("amazon", 1000), Drawn("amazon", 1000));
}

TEST(BagLengthsTest, ATraceIsReadInTurnAndBeginsAnew) {
  const std::string text = FileOf("lengths.txt", "3\n0\n7\n");
  EXPECT_THAT(Drawn("trace:" + text, 5), ElementsAre(3, 0, 7, 3, 0));
  EXPECT_DOUBLE_EQ(ParseBagLengths("trace:" + text).mean, 10.0 / 3);
  Draws draws(5, 0);
  EXPECT_THAT(DrawLengths(ParseBagLengths("trace:" + text), 3, draws, 4), ElementsAre(0, 7, 3));
}

TEST(BagLengthsTest, ATraceMayBeAnArrayOrTheBagsOfAFileOfIds) {
  const int32_t lengths[] = {2, 4, 1, 0};
  EXPECT_THAT(Drawn("trace:" + NpyOf("lengths.npy", DType::kI32, lengths, 4), 4),
              ElementsAre(2, 4, 1, 0));
  const std::string bags = FileOf("bags.txt", "u 1 2 3\nv\nw 9\n");
  EXPECT_THAT(Drawn("trace:bags:" + bags, 3), ElementsAre(3, 0, 1));
}

TEST(BagLengthsTest, ATraceThatIsNoneIsRefusedByItsPlace) {
  const auto refused = [](const std::string& file, const std::string& saying) {
    EXPECT_THAT([&] { ParseBagLengths("trace:" + file); }, ThrowsMessage<Error>(HasSubstr(saying)));
  };
  refused(FileOf("word.txt", "3\nfour\n"),
          "word.txt:2: expected one length, an integer from 0, got \"four\"");
  refused(FileOf("minus.txt", "3\n-1\n"), "minus.txt:2: expected one length");
  refused(FileOf("huge.txt", "3\n2000000000\n"),
          "huge.txt: place 1: expected a length from 0 to 1000000000, got 2000000000");
  refused(FileOf("none.txt", ""), "none.txt: expected one length a line, got an empty file");
  refused(FileOf("zeros.txt", "0\n0\n"), "zeros.txt: expected lengths above 0, got none");
  refused("text:" + FileOf("ids.txt", "1 2\n"),
          "ids.txt: expected a file with bags, got ids alone");
  refused("missing.txt", "missing.txt");
  const float reals[] = {2, 4};
  refused(NpyOf("real.npy", DType::kF32, reals, 2),
          "real.npy: expected lengths of i32 or i64, got f32");
}

TEST(BagLengthsTest, ErrorsSayWhatIsAllowed) {
  for (const char* text :
       {"", "x", "-1", "1.5", "1e12", "poisson", "poisson:", "poisson:x", "range:3", "range:5-3",
        "range:1-2-3", "amazon:", "amazon:-2", "meta2020", "20:3"}) {
    try {
      ParseBagLengths(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(kBagLengthsHelp), std::string::npos) << error.what();
    }
  }
}

TEST(SourcesTest, LengthsAreThoseOfTheBags) {
  const std::string folder = DataFolder();
  if (folder.empty()) GTEST_SKIP() << kNoSources;
  LineReader reader({PathIn(folder, "amazon_book_bags.txt.gz")});
  std::vector<int64_t> lengths;
  std::string_view line;
  while (reader.Next(line)) lengths.push_back(std::count(line.begin(), line.end(), ' '));
  const auto of_table = [](int64_t x) { return AmazonBagsUpTo(static_cast<double>(x)); };
  EXPECT_LT(KsOfLengths(lengths, of_table), 0.002);
}

}  // namespace
}  // namespace tessera::bench
