#include "bench/harness/sweep_runner.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <numeric>
#include <optional>

#include "bench/harness/cache_flusher.h"
#include "bench/harness/machine_axes.h"
#include "bench/harness/samples.h"
#include "bench/harness/sweep.h"
#include "runtime/base/check.h"
#include "runtime/context.h"

namespace tessera::bench {
namespace {

constexpr double kWarmStretch = 1e-3;  // seconds that calls from warm caches are timed together
constexpr double kMaxCalls = 1e6;
constexpr size_t kMaxRounds = 10'000;

// The counter that carries a contender's seconds through Google Benchmark.
std::string CounterOf(size_t contender) { return std::to_string(contender); }

// The contenders of one point, the limit last, and how they are timed.
class Rounds {
 public:
  Rounds(Context& ctx, const Work& work, CacheFlusher* flusher)
      : ctx_(ctx), flusher_(flusher), contenders_(work.contenders) {
    if (work.limit.run) contenders_.push_back(work.limit);
    for (const Contender& contender : contenders_) calls_.push_back(CallsOf(contender));
  }

  size_t size() const { return contenders_.size(); }
  int calls() const { return calls_[0]; }  // of ours in a round

  // Seconds of one call of each contender.
  std::vector<double> Next() {
    std::vector<double> seconds(size());
    for (size_t i = 0; i < size(); ++i) {
      const size_t c = round_ % 2 == 0 ? i : size() - 1 - i;
      seconds[c] = Time(contenders_[c], calls_[c]);
    }
    ++round_;
    return seconds;
  }

  // The calls of a round of contender `c`, to be counted.
  CountedCalls Counted(size_t c) {
    return {[this, c](int round) { Prepare(contenders_[c], round); },
            [this, c](int round) { Run(contenders_[c], round, calls_[c]); }, calls_[c]};
  }

 private:
  // Also the first calls of all, for pages and branch predictors.
  int CallsOf(const Contender& contender) {
    if (contender.before) contender.before(0);
    const double first = SecondsOf([&] { contender.run(0); });
    if (flusher_ != nullptr || contender.before || first > kWarmStretch) return 1;
    const double one = SecondsOf([&] { contender.run(1); });
    return static_cast<int>(std::clamp(std::ceil(kWarmStretch / one), 1.0, kMaxCalls));
  }

  void Prepare(const Contender& contender, int round) {
    if (contender.before) contender.before(round);
    if (flusher_ != nullptr) flusher_->Flush(ctx_);
  }

  static void Run(const Contender& contender, int round, int calls) {
    for (int call = 0; call < calls; ++call) contender.run(round * calls + call);
  }

  double Time(const Contender& contender, int calls) {
    Prepare(contender, round_);
    return SecondsOf([&] { Run(contender, round_, calls); }) / calls;
  }

  Context& ctx_;
  CacheFlusher* flusher_;  // null: warm
  std::vector<Contender> contenders_;
  std::vector<int> calls_;
  int round_ = 0;
};

// Samples of each contender, from the counters of a benchmark's repetitions.
class SampleReporter : public benchmark::BenchmarkReporter {
 public:
  explicit SampleReporter(size_t contenders) : samples_(contenders) {}
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration || run.error_occurred) continue;
      for (size_t c = 0; c < samples_.size(); ++c)
        samples_[c].push_back(run.counters.at(CounterOf(c)).value);
    }
  }
  const std::vector<std::vector<double>>& samples() const { return samples_; }

 private:
  std::vector<std::vector<double>> samples_;
};

// Thrown through nothing but our own code.
struct Stopped {};

// `count` rounds as repetitions of one benchmark. between: called before each with its number.
std::vector<std::vector<double>> Repeat(const std::string& name, Rounds& rounds, int count,
                                        const std::function<void(int)>& between) {
  std::exception_ptr failure;
  int done = 0;
  const auto repetition = [&](benchmark::State& state) {
    for (auto _ : state) {
      try {
        if (failure) break;
        between(done++);
        const std::vector<double> seconds = rounds.Next();
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
  SampleReporter reporter(rounds.size());
  benchmark::RegisterBenchmark(name.c_str(), repetition)
      ->Iterations(1)
      ->Repetitions(count)
      ->UseManualTime();
  benchmark::RunSpecifiedBenchmarks(&reporter, nullptr, ".");
  benchmark::ClearRegisteredBenchmarks();
  if (failure) std::rethrow_exception(failure);
  return reporter.samples();
}

// An axis that is set and that no case reads would make rows that look as if they depended on it.
// What one of several cases reads, as parts of a training do, may be set for all.
class UnreadAxes {
 public:
  UnreadAxes(const Topic& topic, size_t cases) : axes_(AxesOf(topic)), cases_(cases) {}

  // Takes note of what a case read. Throws Error, before the last case is timed, for an axis that
  // none has read.
  void Check(const Point& watched) {
    std::erase_if(axes_, [&](const Axis& axis) { return watched.WasAsked(axis.name); });
    if (--cases_ != 0) return;
    for (const Axis& axis : axes_)
      if (watched.Text(axis.name) != axis.values[0])
        throw Error(Format("--{} {}: no case uses it; leave it out here ({})", axis.name,
                           watched.Text(axis.name), axis.help));
  }

 private:
  std::vector<Axis> axes_;
  size_t cases_;  // left
};

// One point from its tables to its rows.
class PointRun {
 public:
  PointRun(const Topic& topic, const Point& point, const SweepOptions& options)
      : topic_(topic),
        point_(point.Watched()),
        options_(options),
        threads_(static_cast<int>(point_.Int("threads"))),
        name_(Format("{}/{}/{}t", topic.name, point.label(), threads_)),
        ctx_({.threads = threads_, .seed = SeedOf(point_)}),
        machine_(ctx_, point_) {}

  const std::string& name() const { return name_; }

  // between: called before each round with its number.
  std::vector<Measurement> Run(UnreadAxes& unread, const std::function<void(int)>& between) {
    const Work work = topic_.make(ctx_, point_);
    TESSERA_CHECK(!work.contenders.empty(), "the topic gives nothing to time");
    const bool few_ids = work.warm && point_.Text(kCachesAxis) == "auto";
    const bool cold = StartsCold(topic_, point_) && !few_ids;
    unread.Check(point_);
    if (options_.note)
      for (const std::string& note : work.notes) options_.note(name_, note);
    if (work.check) work.check();
    std::optional<CacheFlusher> flusher;
    if (cold) flusher.emplace(ctx_, options_.flush_bytes);
    Rounds rounds(ctx_, work, cold ? &*flusher : nullptr);
    std::vector<Measurement> rows = Rows(work, RepeatLongEnough(rounds, between), cold);
    if (options_.counters != nullptr) Count(rounds, rows);
    return rows;
  }

 private:
  // options_.rounds rounds, and more until ours took min_seconds together.
  std::vector<std::vector<double>> RepeatLongEnough(Rounds& rounds,
                                                    const std::function<void(int)>& between) const {
    auto samples = Repeat(name_, rounds, options_.rounds, between);
    while (true) {
      const std::vector<double>& ours = samples[0];
      const double took = std::accumulate(ours.begin(), ours.end(), 0.0) * rounds.calls();
      if (took >= options_.min_seconds || ours.size() >= kMaxRounds) return samples;
      const double more =
          std::ceil((options_.min_seconds / took - 1) * static_cast<double>(ours.size()));
      const int count =
          static_cast<int>(std::clamp(more, 1.0, static_cast<double>(kMaxRounds - ours.size())));
      const auto next = Repeat(name_, rounds, count, [&](int) { between(options_.rounds); });
      for (size_t c = 0; c < samples.size(); ++c)
        samples[c].insert(samples[c].end(), next[c].begin(), next[c].end());
    }
  }

  void Count(Rounds& rounds, std::vector<Measurement>& rows) const {
    std::vector<CountedCalls> work;
    for (size_t c = 0; c < rows.size(); ++c) work.push_back(rounds.Counted(c));
    const std::vector<CallCounts> counts = options_.counters->Count(work);
    for (size_t c = 0; c < rows.size(); ++c) {
      for (const auto& [name, samples] : counts[c].samples)
        rows[c].facts.emplace_back(name, MedianOf(samples));
      if (counts[c].counted < 1 && !counts[c].samples.empty())
        rows[c].facts.emplace_back("counted_share", counts[c].counted);
    }
    if (options_.note)
      for (const std::string& note : options_.counters->TakeNotes())
        options_.note("counters", note);
  }

  std::vector<Measurement> Rows(const Work& work, const std::vector<std::vector<double>>& samples,
                                bool cold) const {
    Measurement row;
    row.topic = topic_.name;
    row.case_name = point_.label();
    row.threads = threads_;
    row.values = point_.values();
    if (work.limit.run) row.limit_seconds = samples.back();
    row.bytes = work.bytes;
    row.items = work.items;
    row.item = work.item;
    row.facts = work.facts;
    const auto add_facts = [&](const std::vector<std::pair<std::string, double>>& facts) {
      row.facts.insert(row.facts.end(), facts.begin(), facts.end());
    };
    if (work.facts_after) add_facts(work.facts_after());
    if (work.details && options_.details) add_facts(work.details(cold));
    row.cold = cold;
    std::vector<Measurement> rows;
    for (size_t c = 0; c < work.contenders.size(); ++c) {
      rows.push_back(row);
      rows.back().contender = work.contenders[c].name;
      rows.back().seconds = samples[c];
    }
    return rows;
  }

  const Topic& topic_;
  Point point_;
  const SweepOptions& options_;
  int threads_;
  std::string name_;
  Context ctx_;
  PointMachine machine_;
};

// Returns the options of one pass of several.
SweepOptions PartOf(const SweepOptions& options, int pass, int passes) {
  SweepOptions part = options;
  part.rounds = options.rounds * (pass + 1) / passes - options.rounds * pass / passes;
  part.min_seconds = options.min_seconds / passes;
  if (pass > 0) part.note = nullptr;
  return part;
}

// Adds the samples of a point's rows to those of the passes before.
void Append(std::vector<Measurement> rows, std::vector<Measurement>& all) {
  for (size_t r = 0; r < all.size(); ++r) {
    rows[r].seconds.insert(rows[r].seconds.begin(), all[r].seconds.begin(), all[r].seconds.end());
    rows[r].limit_seconds.insert(rows[r].limit_seconds.begin(), all[r].limit_seconds.begin(),
                                 all[r].limit_seconds.end());
  }
  all = std::move(rows);
}

}  // namespace

void RunPoints(const Topic& topic, const std::vector<Point>& points, const SweepOptions& options) {
  const int passes = std::min(options.passes, options.rounds);
  std::vector<std::vector<Measurement>> all(points.size());
  UnreadAxes unread(topic, passes * points.size());
  for (size_t visit = 0; visit < passes * points.size(); ++visit) {
    const size_t p = visit % points.size(), pass = visit / points.size();
    const SweepOptions part = PartOf(options, static_cast<int>(pass), passes);
    PointRun run(topic, points[p], part);
    const auto tell = [&](double done) {
      if (options.stop && options.stop()) throw Stopped();
      if (options.progress)
        options.progress(run.name(), (static_cast<double>(visit) + done) /
                                         static_cast<double>(passes * points.size()));
    };
    try {
      tell(0);
      const auto between = [&](int round) { tell(static_cast<double>(round) / part.rounds); };
      Append(run.Run(unread, between), all[p]);
      if (pass + 1 == static_cast<size_t>(passes) && options.rows) options.rows(all[p]);
    } catch (const Stopped&) {
      return;
    } catch (const std::exception& error) {
      throw Error(Format("{}: {}", run.name(), error.what()));
    }
  }
}

}  // namespace tessera::bench
