#ifndef TESSERA_BENCH_HARNESS_COMPARE_H_
#define TESSERA_BENCH_HARNESS_COMPARE_H_
// Two runs of a topic, row by row.
//
// A row is faster or slower where its speed changed by more than kLeastChange and the test of Mann
// and Whitney (mann_whitney.h) gives p < kSignificance. Speed is the share of the limit, a sample a
// round, where both runs know the limit: what slows a whole machine slows both alike. Else it is
// 1 / seconds. Where so few rounds were timed that p cannot fall below kSignificance, the verdict
// is that there are too few.
#include <string>
#include <vector>

#include "bench/harness/measurement.h"

namespace tessera::bench {

inline constexpr double kSignificance = 0.01, kLeastChange = 0.02;

enum class Verdict { kFaster, kSlower, kSame, kTooFewRounds };
std::string ToString(Verdict verdict);

struct RowChange {
  std::string name, contender;
  double old_seconds = 0, new_seconds = 0;  // medians
  double old_share = 0, new_share = 0;      // 0: without a limit
  double speed = 1;                         // new / old, by the medians of what is compared
  double p = 1;
  Verdict verdict = Verdict::kSame;

  double Ratio() const { return old_seconds / new_seconds; }
  bool ByShare() const { return old_share > 0 && new_share > 0; }
};

struct RunComparison {
  std::string old_machine, new_machine, old_date, new_date;
  std::vector<RowChange> rows;                  // in the order of the new run
  std::vector<std::string> only_old, only_new;  // "name contender", "… (warm)"
};

// Throws Error for runs of different topics.
void CheckComparable(const BenchRun& old_run, const BenchRun& new_run);

// REQUIRES: as CheckComparable says.
RunComparison CompareRuns(const BenchRun& old_run, const BenchRun& new_run);

// A table, what only one run has, what a verdict rests on, and a warning where machines differ.
std::string ComparisonText(const RunComparison& comparison);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_HARNESS_COMPARE_H_
