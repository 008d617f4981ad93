#include "bench/inputs/id_stream.h"

#include <gtest/gtest.h>

#include <bit>
#include <fstream>
#include <regex>
#include <set>

#include "runtime/base/check.h"
#include "runtime/files/files.h"
#include "tests/bench/inputs/distributions.h"

namespace tessera::bench {
namespace {

std::vector<int64_t> Drawn(const Skew& skew, int64_t rows, int64_t count, uint64_t sequence = 0) {
  std::vector<int64_t> ids(static_cast<size_t>(count));
  IdStream(skew, rows, 7, sequence).Draw(ids);
  return ids;
}

std::string WriteTrace(const std::string& text) {
  const std::string path = testing::TempDir() + "/trace.txt";
  std::ofstream(path) << text;
  return path;
}

// The error that ParseSkew throws.
std::string Refusal(const std::string& text) {
  try {
    ParseSkew(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

std::vector<std::string> AllSkews() {
  return {"uniform",
          "zipf:1.05",
          "zipf:1",
          "meta2021",
          "meta2022",
          "distances",
          "trace:" + WriteTrace("5\n3\n5\n900\n")};
}

TEST(IdStreamTest, EveryIdIsARowAndASeedGivesTheSameIds) {
  for (const std::string& text : AllSkews()) {
    const Skew skew = ParseSkew(text);
    for (const int64_t rows : {1, 2, 7, 1000}) {
      if (skew.trace && rows < skew.trace->rows) continue;
      const std::vector<int64_t> ids = Drawn(skew, rows, 3000);
      for (const int64_t id : ids) ASSERT_TRUE(id >= 0 && id < rows) << text << ": " << id;
      EXPECT_EQ(ids, Drawn(skew, rows, 3000)) << text;
    }
    EXPECT_TRUE(Drawn(skew, 1000, 0).empty()) << text;
    EXPECT_NE(Drawn(skew, 1000, 100, 1), Drawn(skew, 1000, 100, 2)) << text;
  }
}

TEST(IdStreamTest, NoRowsIsAnError) {
  EXPECT_THROW(IdStream(ParseSkew("uniform"), 0, 1, 0), Error);
}

TEST(IdStreamTest, UniformIdsAreUniform) {
  const int64_t rows = 1000;
  const std::vector<int64_t> ids = Drawn(ParseSkew("uniform"), rows, 200'000);
  EXPECT_LT(KsOfLengths(ids, [](int64_t id) { return static_cast<double>(id + 1) / rows; }), 0.005);
}

TEST(IdStreamTest, ZipfRanksFollowTheLaw) {
  const int64_t rows = 100'000;
  const double s = 1.05;
  std::unordered_map<int64_t, int64_t> counts;
  for (const int64_t id : Drawn(Skew::Zipf(s), rows, 400'000)) ++counts[id];
  std::vector<double> met;
  for (const auto& [id, count] : counts) met.push_back(static_cast<double>(count));
  std::sort(met.rbegin(), met.rend());
  // The continuous law on [1, rows]: the share of the first k ranks.
  double sum = 0;
  for (size_t k = 0; k < 100; ++k) {
    sum += met[k] / 400'000;
    const double law = (1 - std::pow(static_cast<double>(k + 2), 1 - s)) /
                       (1 - std::pow(static_cast<double>(rows), 1 - s));
    EXPECT_NEAR(sum, law, 0.01) << "first " << k + 1;
  }
}

TEST(IdStreamTest, ReuseCountsAreThoseOfMetasBatches) {
  for (const ReuseCounts* law : {&Meta2021(), &Meta2022()}) {
    const Skew skew = ParseSkew(law == &Meta2021() ? "meta2021" : "meta2022");
    const int64_t count = 2'000'000;
    const ReuseShares shares = SharesOf(Drawn(skew, 10'000'000, count));
    EXPECT_LT(KsOfShares(shares.ids, law->ids), 0.02);
    EXPECT_LT(KsOfShares(shares.rows, law->rows), 0.02);
    const double rows = std::accumulate(shares.rows.begin(), shares.rows.end(), 0.0);
    EXPECT_NEAR(count / rows / law->ids_a_row, 1, 0.03);
  }
}

TEST(IdStreamTest, SmallBatchesHaveTheSmallCountsOfTheLaw) {
  const ReuseShares shares = SharesOf(Drawn(ParseSkew("meta2022"), 1'000'000, 20'000));
  double sum = 0, law = 0;
  for (size_t bin = 0; bin < 8; ++bin) {
    sum += shares.ids[bin] / 20'000;
    law += Meta2022().ids[bin] / 1.001;
    EXPECT_NEAR(sum, law, 0.01) << "bin " << bin;
  }
}

TEST(IdStreamTest, RowsOftenUsedAreThoseOfTheBatchBefore) {
  IdStream stream(ParseSkew("meta2021"), 1'000'000, 1, 0);
  std::vector<int64_t> first(50'000), second(50'000);
  stream.Draw(first);
  stream.Draw(second);
  std::unordered_map<int64_t, int64_t> counts;
  for (const int64_t id : first) ++counts[id];
  const std::set<int64_t> again(second.begin(), second.end());
  for (const auto& [id, count] : counts) EXPECT_EQ(again.contains(id), count > 16) << count;
}

// Ids renamed 0, 1, 2, … in the order of their first use.
std::vector<int64_t> Renamed(const std::vector<int64_t>& ids) {
  std::unordered_map<int64_t, int64_t> names;
  std::vector<int64_t> renamed;
  for (const int64_t id : ids)
    renamed.push_back(names.emplace(id, static_cast<int64_t>(names.size())).first->second);
  return renamed;
}

TEST(IdStreamTest, ReuseDistancesAreThoseOfTheTable) {
  const ReuseDistances& law = LowReuseTable();
  const ReuseDistances met =
      MeasureReuseDistances(Renamed(Drawn(ParseSkew("distances"), 500'000, 379'910)));
  ASSERT_EQ(met.distances.size(), law.distances.size());
  EXPECT_NEAR(static_cast<double>(met.distances.back()), 231'073, 4000);  // rows seen
  for (size_t i = 0; i < law.at_least.size(); ++i)
    EXPECT_NEAR(met.at_least[i], law.at_least[i], 0.01) << "distance " << law.distances[i];
}

TEST(IdStreamTest, OnceEveryRowWasSeenTheOldestComesBack) {
  const std::vector<int64_t> ids = Drawn(ParseSkew("distances"), 100, 10'000);
  EXPECT_EQ(std::set(ids.begin(), ids.end()).size(), 100u);
}

TEST(IdStreamTest, ATraceIsReadInTurn) {
  const Skew skew = ParseSkew("trace:" + WriteTrace("5\n3\r\n5\n900"));
  using Ids = std::vector<int64_t>;
  EXPECT_EQ(Drawn(skew, 901, 6), (Ids{5, 3, 5, 900, 5, 3}));
}

TEST(IdStreamTest, ATraceOfIdsThatAreNoRowsIsRefused) {
  const Skew skew = ParseSkew("trace:" + WriteTrace("5\n900"));
  try {
    Drawn(skew, 900, 6);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("id 900 is no row of a table of 900 rows"),
              std::string::npos)
        << error.what();
  }
}

TEST(SkewTest, ErrorsSayWhatIsAllowed) {
  for (const char* text : {"", "zip", "zipf", "zipf:", "trace", "trace:", "uniform:1"})
    EXPECT_NE(Refusal(text).find(kSkewHelp), std::string::npos) << Refusal(text);
  for (const char* text : {"zipf:x", "zipf:-1", "zipf:11", "zipf:1.05x", "zipf:nan"})
    EXPECT_NE(Refusal(text).find("S from 0 to 10"), std::string::npos) << Refusal(text);
  EXPECT_NE(Refusal("trace:/no/such").find("/no/such"), std::string::npos);
}

TEST(SkewTest, ALineThatIsNoIdIsNamed) {
  for (const char* bad : {"x", "-1", "", "1 2", "1.5", "99999999999999999999"}) {
    const std::string path = WriteTrace("5\n3\n" + std::string(bad) + "\n7\n");
    const std::string text = Refusal("trace:" + path);
    EXPECT_NE(text.find(path + ":3: expected one id"), std::string::npos) << text;
  }
  EXPECT_NE(Refusal("trace:" + WriteTrace("")).find("empty"), std::string::npos);
}

// The sum of one histogram over a file's sections of the sixteen parts.
std::vector<double> SumOfParts(const std::string& text, const std::string& title) {
  std::vector<double> sum(kReuseBins);
  const std::regex part(R"(_\d+\.pt\n)"), line(R"(\n\([^:]*: ([0-9.]+))");
  for (std::sregex_iterator at(text.begin(), text.end(), part), end; at != end; ++at) {
    const size_t start = text.find(title, static_cast<size_t>(at->position()));
    const std::string histogram = text.substr(start, text.find("\n[", start) - start);
    size_t bin = 0;
    for (std::sregex_iterator row(histogram.begin(), histogram.end(), line); row != end; ++row)
      sum.at(bin++) += std::stod((*row)[1]);
  }
  return sum;
}

TEST(SourcesTest, TablesAreThoseOfTheFiles) {
  const std::string folder = DataFolder();
  if (folder.empty()) GTEST_SKIP() << kNoSources;
  for (const ReuseCounts* law : {&Meta2021(), &Meta2022()}) {
    const std::string text = ReadTextFile(
        PathIn(folder, Format("meta_{}_locality_stats.txt", law == &Meta2021() ? 2021 : 2022)));
    EXPECT_LT(KsOfShares(SumOfParts(text, "Histogram of col sizes"), law->rows), 0.001);
    EXPECT_LT(KsOfShares(SumOfParts(text, "Ratio of index distribution"), law->ids), 0.001);
  }
  const Trace trace = ReadTrace(PathIn(folder, "trace_reuse_low_500k.txt"));
  const ReuseDistances met = MeasureReuseDistances(trace.renamed), law = LowReuseTable();
  ASSERT_EQ(met.distances, law.distances);
  for (size_t i = 0; i < law.at_least.size(); ++i)
    EXPECT_NEAR(met.at_least[i], law.at_least[i], 1e-4) << law.distances[i];
}

// Shares of ids by the power of two of their reuse distance, new rows last, as a cache would see
// them.
std::vector<double> PlainDistances(const std::vector<int64_t>& ids) {
  std::vector<double> shares(64);
  LruStack stack;
  for (const int64_t id : ids) {
    const int64_t depth = stack.Depth(id);
    ++shares[depth < 0 ? 63 : static_cast<size_t>(std::bit_width(static_cast<uint64_t>(depth)))];
    stack.Use(id);
  }
  return shares;
}

TEST(SourcesTest, AGeneratedStreamMissesCachesAsTheTraceDoes) {
  const std::string folder = DataFolder();
  if (folder.empty()) GTEST_SKIP() << kNoSources;
  const Trace trace = ReadTrace(PathIn(folder, "trace_reuse_low_500k.txt"));
  const std::vector<int64_t> ids =
      Drawn(ParseSkew("distances"), trace.rows, static_cast<int64_t>(trace.ids.size()));
  EXPECT_LT(KsOfShares(PlainDistances(ids), PlainDistances(trace.renamed)), 0.03);
}

}  // namespace
}  // namespace tessera::bench
