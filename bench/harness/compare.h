#ifndef TESSERA_BENCH_HARNESS_COMPARE_H_
#define TESSERA_BENCH_HARNESS_COMPARE_H_
// Two runs of a topic, row by row.
//
// A row is faster or slower where its speed changed by more than kLeastChange and the test of Mann
// and Whitney (mann_whitney.h) gives p < kSignificance. How much speed changed is the shift of
// Hodges and Lehmann between the logarithms of both runs' speeds, whose interval is that of the
// same test. Speed is the share of the limit, where both runs know the limit: what slows a whole
// machine slows both alike. Else it is 1 / seconds. A row that is neither is the same, or unclear
// where its interval reaches beyond a change of kUnclearChange: so much may have changed unseen.
//
// The test takes its samples for independent. Rounds of a pass are not: they share their tables and
// their moment, by which two passes of one program differ. So a sample is the median of a pass
// where both runs have kLeastPasses passes of the row. Else it is a round, and a verdict holds only
// for a machine that does not drift; where so few rounds were timed that p cannot fall below
// kSignificance, the verdict is that there are too few.
//
// Rows are of the same work if their threads, contender and the values of all axes that both have
// are equal, or, where a row has no values, their cases' names. "variants", which names contenders,
// is no such axis. Where several old rows fit, those with the name of the new one's case are taken,
// else each.
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/measurement.h"

namespace tessera::bench {

inline constexpr double kSignificance = 0.01, kLeastChange = 0.02, kUnclearChange = 0.1;
inline constexpr size_t kLeastPasses = 5;  // the fewest by which p can fall below kSignificance

enum class Verdict { kFaster, kSlower, kSame, kUnclear, kTooFewRounds };
std::string ToString(Verdict verdict);

struct RowChange {
  std::string name, contender;              // name: with the old case's, where it is another
  double old_seconds = 0, new_seconds = 0;  // medians
  double old_share = 0, new_share = 0;      // 0: without a limit
  double speed = 1;                         // new / old
  double speed_low = 0, speed_high = 0;     // its interval; 0 and infinity: too few rounds
  double p = 1;
  Verdict verdict = Verdict::kSame;
  bool by_passes = false;  // a sample is a pass; else a round

  bool ByShare() const { return old_share > 0 && new_share > 0; }
};

struct RunComparison {
  std::string old_machine, new_machine, old_date, new_date;
  std::vector<RowChange> rows;                  // in the order of the new run
  std::vector<std::string> only_old, only_new;  // "name contender", "… (warm)"
};

// Throws Error for runs of different topics.
void CheckComparable(const BenchRun& old_run, const BenchRun& new_run);

// Rows of the same work, first that of the old run, in the order of the new one. They live as long
// as the runs.
std::vector<std::pair<const Measurement*, const Measurement*>> RowsOfBoth(const BenchRun& old_run,
                                                                          const BenchRun& new_run);

// REQUIRES: as CheckComparable says.
RunComparison CompareRuns(const BenchRun& old_run, const BenchRun& new_run);

// The least change of a row's speed that CompareRuns finds in 19 of 20 pairs of runs with as many
// samples that spread as much: 0.05 is 5 %. Infinite where they are too few to find any. Samples
// are passes where there are kLeastPasses, else rounds.
double LeastFoundChange(const Measurement& row);

// A table, what only one run has, what a verdict rests on, and a warning where machines differ.
std::string ComparisonText(const RunComparison& comparison);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_HARNESS_COMPARE_H_
