#ifndef TESSERA_CLI_BENCH_BENCH_FLAGS_H_
#define TESSERA_CLI_BENCH_BENCH_FLAGS_H_
// The flags of `tessera bench TOPIC`, and the settings of a run that they fill.
#include <memory>
#include <optional>
#include <string>

#include "bench/harness/compare.h"
#include "bench/harness/sweep.h"
#include "bench/harness/topic.h"
#include "cli/bench/bench_comparison.h"
#include "cli/bench/bench_files.h"
#include "cli/command.h"

namespace tessera::cli {

struct BenchFlags {
  bench::AxisValues axes;
  std::string suite, only;
  BenchFiles files;
  std::optional<int> rounds, passes;
  double min_time = 0, precision = 0;  // precision: percent
  int64_t flush_mib = 0;
  std::string memory_limit;
  double allowed = kAnyChange;  // percent
  bool list = false, cold = false, warm = false, details = false, counters = false;

  bool IsAgainst() const { return !files.against.empty(); }
  bool HasSamplesOfPasses() const { return precision > 0 || IsAgainst(); }
  int Passes() const {
    return passes.value_or(HasSamplesOfPasses() ? static_cast<int>(bench::kLeastPasses) : 1);
  }
  // A pass that is one sample needs as many rounds as a run without passes.
  int Rounds() const { return rounds.value_or(HasSamplesOfPasses() ? 15 * Passes() : 15); }
};

// A flag for each axis of the topic, and those that all topics have.
void AddBenchFlags(Command command, const bench::Topic& topic,
                   const std::shared_ptr<BenchFlags>& flags);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_BENCH_BENCH_FLAGS_H_
