#include "bench/harness/rounds.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <exception>

namespace tessera::bench {
namespace {

constexpr double kWarmStretch = 1e-3;  // seconds that calls from warm caches are timed together
constexpr double kMaxCalls = 1e6;

// The counter that carries a contender's seconds through Google Benchmark.
std::string CounterOf(size_t contender) { return std::to_string(contender); }

void RunCalls(const Contender& contender, int round, int calls) {
  for (int call = 0; call < calls; ++call) contender.run(round * calls + call);
}

// Samples of each contender, from the counters of a benchmark's repetitions.
class SampleReporter : public benchmark::BenchmarkReporter {
 public:
  explicit SampleReporter(size_t contenders) : samples_(contenders) {}
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration || run.counters.empty()) continue;  // it was skipped
      for (size_t c = 0; c < samples_.size(); ++c)
        samples_[c].push_back(run.counters.at(CounterOf(c)).value);
    }
  }
  const std::vector<std::vector<double>>& samples() const { return samples_; }

 private:
  std::vector<std::vector<double>> samples_;
};

}  // namespace

Rounds::Rounds(Context& ctx, const Work& work, CacheFlusher* flusher)
    : ctx_(ctx), flusher_(flusher), contenders_(work.contenders) {
  if (work.limit.run) contenders_.push_back(work.limit);
  for (const Contender& contender : contenders_) calls_.push_back(CallsOf(contender));
}

// Also makes the first calls of all, for pages and branch predictors.
int Rounds::CallsOf(const Contender& contender) {
  if (contender.before) contender.before(0);
  const double first = SecondsOf([&] { contender.run(0); });
  if (flusher_ != nullptr || contender.before || first > kWarmStretch) return 1;
  const double one = SecondsOf([&] { contender.run(1); });
  return static_cast<int>(std::clamp(std::ceil(kWarmStretch / one), 1.0, kMaxCalls));
}

void Rounds::Prepare(const Contender& contender, int round) {
  if (contender.before) contender.before(round);
  if (flusher_ != nullptr) flusher_->Flush(ctx_);
}

double Rounds::Time(const Contender& contender, int calls) {
  Prepare(contender, round_);
  return SecondsOf([&] { RunCalls(contender, round_, calls); }) / calls;
}

std::vector<double> Rounds::Next() {
  std::vector<double> seconds(size());
  for (size_t i = 0; i < size(); ++i) {
    const size_t c = round_ % 2 == 0 ? i : size() - 1 - i;
    seconds[c] = Time(contenders_[c], calls_[c]);
  }
  ++round_;
  return seconds;
}

std::vector<std::vector<double>> Rounds::Repeat(const std::string& name, int count,
                                                const std::function<void(int)>& between) {
  std::exception_ptr failure;
  int done = 0;
  const auto repetition = [&](benchmark::State& state) {
    for (auto _ : state) {
      try {
        if (failure) break;
        between(done++);
        const std::vector<double> seconds = Next();
        for (size_t c = 0; c < seconds.size(); ++c) state.counters[CounterOf(c)] = seconds[c];
        state.SetIterationTime(seconds[0]);
      } catch (...) {
        failure = std::current_exception();
        state.SkipWithError("failed");
        break;
      }
    }
    if (failure) state.SkipWithError("failed");
  };
  SampleReporter reporter(size());
  benchmark::RegisterBenchmark(name.c_str(), repetition)
      ->Iterations(1)
      ->Repetitions(count)
      ->UseManualTime();
  benchmark::RunSpecifiedBenchmarks(&reporter, nullptr, ".");
  benchmark::ClearRegisteredBenchmarks();
  if (failure) std::rethrow_exception(failure);
  return reporter.samples();
}

CountedCalls Rounds::Counted(size_t c) {
  return {[this, c](int round) { Prepare(contenders_[c], round); },
          [this, c](int round) { RunCalls(contenders_[c], round, calls_[c]); }, calls_[c]};
}

}  // namespace tessera::bench
