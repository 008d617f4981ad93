#ifndef TESSERA_CLI_BENCH_BENCH_AGAINST_H_
#define TESSERA_CLI_BENCH_BENCH_AGAINST_H_
// `tessera bench TOPIC --against BINARY`: passes of another build and of this program in turn
// (bench/harness/in_turn.h), each in a process of its own, so that nothing but the program differs.
#include <functional>
#include <string>
#include <vector>

#include "bench/harness/measurement.h"

namespace tessera::cli {

struct AgainstRun {
  std::string binary, topic;
  std::vector<std::string> words;  // that all passes are told: axes, suite, …
  std::string only;                // of the user
  int rounds = 15, passes = 5;     // rounds: of all passes together
  double min_time = 0;             // likewise
  double precision = 0;            // a share; 0: passes do not go on
  size_t cases = 1;                // how many there are, for the progress
};

// Throws Error unless each program has rounds for as many passes as a verdict needs, and the other
// one is a tessera that takes the run's words and has such cases. Times nothing.
void CheckAgainst(const AgainstRun& run);

// Callbacks while passes run.
struct AgainstTold {
  // Given what is being done, and how much is over (0 to 1).
  std::function<void(const std::string& what, double fraction)> progress;
  // Given a line that a program says of a case, such as what it leaves out; each line once.
  std::function<void(const std::string& line)> note;
};

// Fills two runs, of the other program and of this one, with all passes that both have done, also
// where a signal ends it. Throws Error, naming program and pass, where a pass fails.
void RunAgainst(const AgainstRun& run, const AgainstTold& told, std::vector<bench::BenchRun>& runs);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_BENCH_BENCH_AGAINST_H_
