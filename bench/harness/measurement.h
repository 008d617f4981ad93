#ifndef TESSERA_BENCH_HARNESS_MEASUREMENT_H_
#define TESSERA_BENCH_HARNESS_MEASUREMENT_H_
// Times of one contender at one place of a sweep, sample by sample, beside those of the machine's
// limit in the same rounds. Tables, files and pictures are made of these.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::bench {

// A row's result in something else than speed, from 0 to 1: facts "<name>" and "best_<name>", the
// most there could be.
struct Score {
  std::string name;  // "hit rate"
  double value = 0, best = 0;

  // 1 where nothing can be reached.
  double ShareOfBest() const { return best > 0 ? value / best : 1; }
};

struct Measurement {
  std::string topic, case_name;
  int threads = 1;
  std::string contender;  // "tessera": ours; else a variant beside it
  std::vector<std::pair<std::string, std::string>> values;  // of the axes
  std::vector<double> seconds;                              // of one call, a round
  std::vector<double> limit_seconds;  // in the same rounds; empty: no limit is known
  // How many of the rounds each pass had, in order; empty: all are of one pass. Rounds of a pass
  // share their tables and their moment.
  std::vector<int64_t> pass_rounds;
  double bytes = 0;   // of one call; 0: not counted
  int64_t items = 0;  // of one call; 0: not counted
  std::string item = "ids";
  std::vector<std::pair<std::string, double>> facts;
  bool cold = true;  // each call found caches full of something else

  // "<topic>/<case>/<threads>t": what rows of several files and of peers are joined by.
  std::string Name() const;
  // The case without "caches=…". With `cold`, threads and contender it joins rows of a run that
  // timed one state of the caches with those of a run that timed both.
  std::string CaseWithoutCaches() const;
  size_t Passes() const { return pass_rounds.empty() ? 1 : pass_rounds.size(); }
  // Adds the samples of a row of the same work as passes that came later, and takes its facts.
  // Throws Error where one of both has a limit and the other has none.
  void AddPasses(const Measurement& later);
  double Median() const;
  double Quantile(double q) const;
  double Spread() const;  // (p90 − p10) / median
  bool HasLimit() const { return !limit_seconds.empty(); }
  double LimitMedian() const;  // 0 without a limit
  // Median over rounds of limit / seconds: how much of the limit's speed was reached; 0 without
  // one.
  double Share() const;
  double BytesPerSecond() const { return bytes / Median(); }
  double ItemsPerSecond() const { return static_cast<double>(items) / Median(); }
  // Returns the score made of the first facts that are one.
  std::optional<Score> ScoreOfFacts() const;
};

inline constexpr char kCachesAxis[] = "caches";

// One run of a topic, as its data file has it.
struct BenchRun {
  std::string machine, date, topic;  // date: "2026-11-21"
  int rounds = 0;
  std::vector<Measurement> rows;
  std::vector<std::pair<std::string, std::string>> context = {};  // run_context.h

  // "15", or "10 to 119", where rows were timed that often; without rows `rounds`.
  std::string RoundsText() const;
  // The caches that the rows' calls found: "cold", "warm" or "cold and warm".
  std::string CachesText() const;
};

// More than this, and a median says as much of the machine's other users as of the code.
inline constexpr double kNoisySpread = 0.10;

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_HARNESS_MEASUREMENT_H_
