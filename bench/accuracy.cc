// How far the harness can be trusted on this machine, as three figures:
//
//   call     what it says of a call of some microsecond, over a loop written by hand
//   same     of rows that are run twice, the share that is called the same
//   slower   of rows that are run again with 5 % of work added, the share that is called slower
//
// All topics that need no files of others are run, at small sizes, passes in turn as --against
// does; or one whole run after the other, as --compare does.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/files/measurement_json.h"
#include "bench/harness/bench_main.h"
#include "bench/harness/compare.h"
#include "bench/harness/in_turn.h"
#include "bench/harness/passes.h"
#include "bench/harness/samples.h"
#include "bench/harness/sweep.h"
#include "bench/harness/sweep_runner.h"
#include "bench/topics.h"
#include "runtime/base/check.h"
#include "runtime/base/machine.h"
#include "runtime/context.h"
#include "runtime/files/files.h"
#include "runtime/flags/flags.h"

namespace tessera::bench {
namespace {

constexpr double kAdded = 0.05;  // of a call's time

struct Flags {
  std::string topics, folder;
  int rounds = 75, passes = 5;
  double min_time = 0, precision = 0;
  int64_t flush_mib = 0;
  bool one_by_one = false;
};

// ---- work of a known time

// Steps that wait for each other.
void Spin(int64_t steps) {
  uint64_t x = 1;
  for (int64_t i = 0; i < steps; ++i) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    asm volatile("" : "+r"(x));
  }
}

// Waits until all before it is done, so that work behind it is added and not done beside it.
void WaitForAll() {
#if defined(__x86_64__)
  asm volatile("lfence" ::: "memory");
#elif defined(__aarch64__)
  asm volatile("dsb sy\n\tisb" ::: "memory");
#endif
}

// Seconds of a step of Spin, written out by hand: the least of some loops.
double SecondsOfStep() {
  constexpr int64_t kSteps = 200'000;
  double least = 1;
  for (int i = 0; i < 9; ++i) {
    const auto start = std::chrono::steady_clock::now();
    Spin(kSteps);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    least = std::min(least, took.count() / kSteps);
  }
  return least;
}

int64_t StepsOf(double seconds) {
  static const double step = SecondsOfStep();
  return static_cast<int64_t>(seconds / step);
}

// ---- call

Topic SpinTopic(int64_t steps) {
  return {.name = "spin",
          .help = "",
          .limit = "",
          .axes = {},
          .suites = {},
          .make = [steps](Context&, const Point&) {
            Work work;
            work.contenders = {{"spin", [steps](int) { Spin(steps); }}};
            work.warm = true;
            return work;
          }};
}

double ByTheHarness(int64_t steps, int rounds) {
  double seconds = 0;
  const Topic topic = SpinTopic(steps);
  RunPoints(topic, PointsOf(topic, "", {{"threads", {"1"}}}),
            {.rounds = rounds,
             .rows = [&](const std::vector<Measurement>& rows) { seconds = rows[0].Median(); }});
  return seconds;
}

double ByHand(int64_t steps, int rounds) {
  constexpr int kCalls = 1000;
  std::vector<double> seconds;
  for (int round = 0; round < rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int call = 0; call < kCalls; ++call) Spin(steps);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    seconds.push_back(took.count() / kCalls);
  }
  return MedianOf(seconds);
}

// Both ways in turn, so that a clock that changes its rate changes both.
void PrintCall(const Flags& flags) {
  const int64_t steps = StepsOf(1e-6);
  std::vector<double> ratios;
  double hand = 0;
  for (int i = 0; i < 9; ++i) {
    hand = ByHand(steps, flags.rounds);
    ratios.push_back(ByTheHarness(steps, flags.rounds) / hand);
  }
  std::printf("call: %.1f ns by hand; the harness says %+.2f %% (from %+.2f to %+.2f)\n",
              1e9 * hand, 100 * (MedianOf(ratios) - 1), 100 * (QuantileOf(ratios, 0) - 1),
              100 * (QuantileOf(ratios, 1) - 1));
}

// ---- same, slower

const std::map<std::string, AxisValues>& SmallSizes() {
  static const std::map<std::string, AxisValues> sizes = {
      {"lookup",
       {{"dim", {"16", "64", "128"}},
        {"rows", {"50k"}},
        {"tables", {"4"}},
        {"batch", {"512"}},
        {"skew", {"uniform", "zipf:1.05"}},
        {"api", {"op", "module"}}}},
      {"growing", {{"rows", {"100k"}}, {"batch", {"512"}}}},
      {"update",
       {{"rule", {"sgd", "rowwise_adagrad", "adam"}},
        {"dim", {"16", "64"}},
        {"rows", {"50k"}},
        {"tables", {"4"}},
        {"batch", {"512"}}}},
      {"quant",
       {{"codec", {"int8", "int4"}},
        {"dim", {"64", "128"}},
        {"rows", {"50k"}},
        {"tables", {"4"}},
        {"batch", {"512"}}}},
      {"sparse", {{"batch", {"512"}}}},
      {"train", {{"dim", {"16"}}, {"batch", {"128"}}, {"rows", {"10k"}}}},
      {"comm", {{"ranks", {"2"}}, {"size", {"64Ki", "1Mi"}}}},
      {"plan", {{"tables", {"20"}}, {"ranks", {"8"}}}},
      {"serve", {{"rows", {"10k"}}, {"dim", {"16"}}}},
      {"limits", {{"memory", {"64Mi"}}}},
      {"disk", {{"rows", {"20k"}}, {"dim", {"16"}}, {"batch", {"64"}}, {"steps", {"4"}}}},
      {"eviction", {{"count", {"20k"}}, {"rows", {"10k"}}}},
      {"lab",
       {{"kernel", {"lookup", "update"}},
        {"dim", {"64"}},
        {"rows", {"50k"}},
        {"tables", {"4"}},
        {"batch", {"512"}}}}};
  return sizes;
}

std::vector<Point> PointsOfAll(const Topic& topic) {
  AxisValues axes = SmallSizes().at(topic.name);
  if (topic.name != "comm" && topic.name != "plan") axes["threads"] = {"1"};
  return PointsOf(topic, "", axes);
}

BenchRun RunPassesOf(const Topic& topic, const std::vector<Point>& points, SweepOptions options,
                     const Flags& flags) {
  BenchRun run{.machine = MachineName(),
               .date = "",
               .topic = topic.name,
               .rounds = options.rounds,
               .rows = {}};
  options.flush_bytes = flags.flush_mib << 20;
  options.rows = [&](const std::vector<Measurement>& rows) {
    run.rows.insert(run.rows.end(), rows.begin(), rows.end());
  };
  RunPoints(topic, points, options);
  return run;
}

BenchRun WholeRun(const Topic& topic, const Flags& flags) {
  return RunPassesOf(topic, PointsOfAll(topic),
                     {.rounds = flags.rounds,
                      .passes = flags.passes,
                      .min_seconds = flags.min_time,
                      .precision = flags.precision / 100},
                     flags);
}

BenchRun OnePass(const Topic& topic, const Flags& flags, int pass,
                 const std::optional<CaseNames>& cases) {
  std::vector<Point> points = PointsOfAll(topic);
  std::erase_if(points,
                [&](const Point& point) { return cases && !cases->contains(point.label()); });
  return RunPassesOf(topic, points,
                     {.rounds = RoundsOfPass(flags.rounds, flags.passes, pass),
                      .min_seconds = flags.min_time / flags.passes},
                     flags);
}

// The topic with a share of work added to each contender, as long as it took in `run`, which is
// there as long as the topic.
Topic Slower(const Topic& topic, const BenchRun& run) {
  Topic slower = topic;
  slower.make = [&topic, &run](Context& ctx, const Point& point) {
    Work work = topic.make(ctx, point);
    for (Contender& contender : work.contenders)
      for (const Measurement& row : run.rows)
        if (row.contender == contender.name && row.case_name == point.label())
          contender.run = [call = contender.run,
                           steps = StepsOf(kAdded * row.Median())](int round) {
            call(round);
            WaitForAll();
            Spin(steps);
            WaitForAll();
          };
    return work;
  };
  return slower;
}

enum Side { kSecond, kFirst, kSlower, kSides };

// A run of the topic, another one, and one with work added: in turn, or one after the other.
std::vector<BenchRun> RunSides(const Topic& topic, const Flags& flags) {
  std::vector<BenchRun> runs(kSides);
  if (flags.one_by_one) {
    runs[kFirst] = WholeRun(topic, flags);
    runs[kSecond] = WholeRun(topic, flags);
    runs[kSlower] = WholeRun(Slower(topic, runs[kSecond]), flags);
    return runs;
  }
  const BenchRun known = RunPassesOf(topic, PointsOfAll(topic),
                                     {.rounds = flags.rounds, .passes = flags.passes}, flags);
  const Topic slower = Slower(topic, known);
  const PassOf pass_of = [&](size_t side, int pass, const std::optional<CaseNames>& cases) {
    return OnePass(side == kSlower ? slower : topic, flags, pass, cases);
  };
  RunInTurn(flags.passes, flags.precision / 100, pass_of, runs);
  return runs;
}

struct Counts {
  int64_t rows = 0, as_said = 0, unclear = 0;
};

// Counts the verdicts, and prints those that are others.
void Count(const BenchRun& before, const BenchRun& now, Verdict said, Counts& counts) {
  for (const RowChange& row : CompareRuns(before, now).rows) {
    ++counts.rows;
    counts.as_said += row.verdict == said;
    counts.unclear += row.verdict == Verdict::kUnclear;
    if (row.verdict != said)
      std::printf("  %s %s: %s, %.3fx (%.3f to %.3f), where it is %s\n", row.name.c_str(),
                  row.contender.c_str(), ToString(row.verdict).c_str(), row.speed, row.speed_low,
                  row.speed_high, ToString(said).c_str());
  }
}

void Keep(const Flags& flags, const BenchRun& run, const char* name) {
  if (flags.folder.empty()) return;
  ReplaceTextFile(Format("{}/{}_{}.json", flags.folder, run.topic, name), RunToJson(run));
}

void Print(const char* name, const Counts& counts) {
  std::printf("%s: %lld of %lld rows, %.1f %%; %lld are unclear\n", name,
              static_cast<long long>(counts.as_said), static_cast<long long>(counts.rows),
              100 * static_cast<double>(counts.as_said) / static_cast<double>(counts.rows),
              static_cast<long long>(counts.unclear));
}

void PrintVerdicts(const Flags& flags) {
  const auto wanted = [&](const Topic& topic) {
    return SmallSizes().contains(topic.name) &&
           (flags.topics.empty() ||
            ("," + flags.topics + ",").find("," + topic.name + ",") != std::string::npos);
  };
  Counts same, slower;
  for (const Topic* topic : Topics()) {
    if (!wanted(*topic)) continue;
    const std::vector<BenchRun> runs = RunSides(*topic, flags);
    Keep(flags, runs[kFirst], "first");
    Keep(flags, runs[kSecond], "second");
    Keep(flags, runs[kSlower], "slower");
    Count(runs[kFirst], runs[kSecond], Verdict::kSame, same);
    Count(runs[kSecond], runs[kSlower], Verdict::kSlower, slower);
    std::printf("%s: done\n", topic->name.c_str());
    std::fflush(stdout);
  }
  Print("same", same);
  Print("slower", slower);
}

int Main(int argc, char** argv) {
  Flags flags;
  internal::ProgramFlags line("How far the harness can be trusted on this machine");
  line.Add("--topics", flags.topics, "names joined by commas (all)");
  line.Add("--rounds", flags.rounds, "rounds of a run");
  line.Add("--passes", flags.passes, "as of tessera bench");
  line.Add("--min-time", flags.min_time, "as of tessera bench");
  line.Add("--precision", flags.precision, "as of tessera bench");
  line.Add("--flush-mib", flags.flush_mib, "as of tessera bench");
  line.Add("--one-by-one", flags.one_by_one, "one whole run after the other, not in turn");
  line.Add("--keep", flags.folder, "a folder for the data files of the runs");
  if (!line.Parse(argc, argv)) return 0;
  if (flags.passes < 1 || flags.rounds < flags.passes)
    throw Error(Format("--rounds {}: expected at least {}, one for each of --passes", flags.rounds,
                       flags.passes));
  PrintCall(flags);
  PrintVerdicts(flags);
  return 0;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::BenchMain("accuracy", tessera::bench::Main, argc, argv);
}
