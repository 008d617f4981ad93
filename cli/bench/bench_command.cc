// tessera bench: how fast this machine does the work of a topic, beside what its memory allows.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <exception>
#include <mutex>
#include <optional>
#include <set>

#include "bench/facts/call_counters.h"
#include "bench/harness/compare.h"
#include "bench/harness/passes.h"
#include "bench/harness/result_table.h"
#include "bench/harness/run_context.h"
#include "bench/harness/sweep.h"
#include "bench/harness/sweep_runner.h"
#include "bench/topics.h"
#include "cli/bench/bench_against.h"
#include "cli/bench/bench_comparison.h"
#include "cli/bench/bench_flags.h"
#include "cli/bench/bench_show.h"
#include "cli/command.h"
#include "cli/config_flags.h"
#include "cli/interrupt.h"
#include "cli/memory_limit_flag.h"
#include "cli/show/measure_progress.h"
#include "embedding/plugin_rules.h"
#include "runtime/base/check.h"
#include "runtime/base/joined.h"
#include "runtime/base/machine.h"
#include "runtime/files/unfinished_paths.h"

namespace tessera::cli {
namespace {

constexpr char kDescription[] =
    "Time parts of the library on this machine, beside what its memory allows.";
constexpr char kFooter[] =
    "\nExamples:\n"
    "  tessera bench lookup --dim 16,64,128 --skew uniform,zipf:1.05 --threads 1,2 --svg "
    "lookup.svg\n"
    "  tessera bench lookup --suite peers --only '^D128' --json old.json\n"
    "  tessera bench lookup --suite peers --only '^D128' --compare old.json --svg changes.svg\n"
    "  tessera bench lookup --suite peers --only '^D128' --against old/tessera --precision 5\n"
    "\n"
    "Several values of an axis are a sweep. Times are the least and percentiles over rounds; rates "
    "and shares follow from the median, and '!' marks one whose 10th to 90th percentile spread by "
    "more than 10 %. The limit is timed in the same rounds, so shares of it say "
    "more than times on a machine that others use too.\n"
    "\n"
    "Bytes of a lookup are the row of every id, every id (8) and every output, once each; bytes of "
    "an update every distinct row and its states in and out, every id (8) and every gradient once; "
    "on CPUs and GPUs alike.\n"
    "\n"
    "Operations of a lookup are a sum (weighted: a product, too) for each element of the row of "
    "every id; those of an update as many of gradients, and its rule's for each element of every "
    "distinct row. A sum, product, quotient, root, maximum or sign is one.\n";

std::string Today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  gmtime_r(&now, &parts);
  char text[16];
  std::strftime(text, sizeof(text), "%Y-%m-%d", &parts);
  return text;
}

// With the shared objects of --plugin, whose rules rows may be of.
std::vector<std::pair<std::string, std::string>> ContextOfRun() {
  auto context = bench::RunContext();
  std::vector<std::string> plugins;
  for (const RulePlugin* plugin : LoadedRulePlugins())
    plugins.push_back(Format("{} ({}, sha256 {})", plugin->rule(), plugin->path, plugin->sha256));
  if (!plugins.empty()) context.emplace_back("plugins", internal::Joined(plugins));
  return context;
}

std::string Heading(const bench::Topic& topic, const bench::BenchRun& run,
                    const std::vector<bench::Point>& points, const BenchFlags& flags) {
  const std::string in_turn =
      flags.IsAgainst() ? Format("{} passes of each program, in turn: {} (old), this one (new)\n",
                                 flags.Passes(), flags.files.against)
                        : "";
  return Format("{}: {}\n{}{}; {}, {} rounds{}\n{}\n", topic.name, topic.help,
                topic.limit.empty() ? "" : "Limit: " + topic.limit + ".\n", run.machine,
                bench::CachesOf(topic, points), run.rounds,
                flags.precision > 0 || flags.min_time > 0 ? " or more" : "", in_turn);
}

// Rows as they are printed: of a topic that ranks its contenders the fastest of each case first.
// REQUIRES: rows of a case lie together.
std::vector<bench::Measurement> Ranked(const bench::Topic& topic,
                                       std::vector<bench::Measurement> rows) {
  if (!topic.ranked) return rows;
  for (auto begin = rows.begin(); begin != rows.end();) {
    const auto end = std::find_if(begin, rows.end(),
                                  [&](const auto& row) { return row.Name() != begin->Name(); });
    std::stable_sort(begin, end,
                     [](const auto& a, const auto& b) { return a.Median() < b.Median(); });
    begin = end;
  }
  return rows;
}

// The rows of a run, and those that they are compared with. They are never destroyed: a thread that
// ends the command may outlive main, and Finish leaves the mutex locked.
struct Results {
  bench::BenchRun run;
  std::optional<bench::BenchRun> old;
  std::mutex mutex = {};  // of run's rows, which a thread that ends the command may want
};

Results& TheResults() {
  static auto* const results = new Results;
  return *results;
}

// Times the points into the results, and prints each one when it is done.
void Measure(const bench::Topic& topic, const std::vector<bench::Point>& points,
             const BenchFlags& flags, Results& results) {
  bench::ResultTable table(points, flags.details || flags.counters);
  bench::CallCounters counters = bench::MachineCounters();
  MeasureProgress progress;
  const auto show = [&](const std::vector<bench::Measurement>& rows) {
    const std::lock_guard lock(results.mutex);
    progress.Clear();  // a line of the table takes the place of the bar
    std::fputs(table.Lines(Ranked(topic, rows)).c_str(), stdout);
    results.run.rows.insert(results.run.rows.end(), rows.begin(), rows.end());
  };
  bench::RunPoints(
      topic, points,
      {.rounds = flags.Rounds(),
       .passes = flags.Passes(),
       .min_seconds = flags.min_time,
       .precision = flags.precision / 100,
       .counters = flags.counters ? &counters : nullptr,
       .details = flags.details,
       .flush_bytes = flags.flush_mib << 20,
       .progress = [&](const std::string& what, double fraction) { progress.Show(what, fraction); },
       .stop = Interrupted,
       .note =
           [&](const std::string& name, const std::string& note) {
             progress.Clear();
             std::printf("%s: %s\n", name.c_str(), note.c_str());
           },
       .rows = show});
}

// Returns ask(point); its Error names the point.
template <typename Ask>
auto AskOf(const bench::Topic& topic, const bench::Point& point, const Ask& ask) {
  try {
    return ask(point);
  } catch (const Error& error) {
    throw Error(Format("{}: {}", bench::NameOf(topic, point), error.what()));
  }
}

// Throws Error for flags of which one leaves another without effect.
void CheckEffects(const bench::Topic& topic, const std::vector<bench::Point>& points,
                  const BenchFlags& flags) {
  if (flags.allowed != kAnyChange && !flags.IsAgainst() && flags.files.compare.empty())
    throw Error("--allow requires --compare or --against");
  if (flags.passes && !flags.IsAgainst() && flags.Rounds() < flags.Passes())
    throw Error(
        Format("--rounds {} with --passes {}: expected at least {} rounds, one for each pass",
               flags.Rounds(), flags.Passes(), flags.Passes()));
  const auto cold = [&](const bench::Point& point) { return bench::StartsCold(topic, point); };
  if (flags.flush_mib > 0 && std::ranges::none_of(points, cold))
    throw Error(Format("--flush-mib {} with {}: caches are left warm, and none is flushed",
                       flags.flush_mib,
                       flags.warm ? "--warm" : "--caches " + points[0].Text(bench::kCachesAxis)));
}

// Checks the memory of all points before the first one is made.
void CheckPointsMemory(const bench::Topic& topic, const std::vector<bench::Point>& points,
                       const BenchFlags& flags) {
  if (!topic.memory) return;
  const MemoryThere there = MemoryThereIs(flags.memory_limit);
  for (const bench::Point& point : points)
    CheckMemory(Format("{}/{}", topic.name, point.label()),
                {{"tables", AskOf(topic, point, topic.memory)}}, there,
                "Fewer --rows, --tables or a smaller --dim take less; --memory-limit SIZE sets "
                "another limit");
}

// --cold and --warm are short for a value of --caches.
bench::AxisValues AxesWithCaches(const BenchFlags& flags) {
  bench::AxisValues axes = flags.axes;
  if (flags.cold) axes[bench::kCachesAxis] = {"cold"};
  if (flags.warm) axes[bench::kCachesAxis] = {"warm"};
  return axes;
}

// The words of a pass in a process of its own, but those of its rounds, cases and files.
std::vector<std::string> WordsOfPass(const BenchFlags& flags) {
  std::vector<std::string> words;
  const auto add = [&](const std::string& flag, const std::string& value) {
    words.push_back(value.empty() ? "--" + flag : Format("--{}={}", flag, value));
  };
  for (const auto& [axis, values] : AxesWithCaches(flags)) add(axis, internal::Joined(values, ","));
  for (const RulePlugin* plugin : LoadedRulePlugins()) add("plugin", plugin->path);
  if (!flags.suite.empty()) add("suite", flags.suite);
  if (!flags.memory_limit.empty()) add("memory-limit", flags.memory_limit);
  if (flags.flush_mib > 0) add("flush-mib", std::to_string(flags.flush_mib));
  if (flags.details) add("details", "");
  return words;
}

AgainstRun AgainstRunOf(const bench::Topic& topic, const std::vector<bench::Point>& points,
                        const BenchFlags& flags) {
  std::set<std::string> cases;
  for (const bench::Point& point : points) cases.insert(point.label());
  return {.binary = flags.files.against,
          .topic = topic.name,
          .words = WordsOfPass(flags),
          .only = flags.only,
          .rounds = flags.Rounds(),
          .passes = flags.Passes(),
          .min_time = flags.min_time,
          .precision = flags.precision / 100,
          .cases = cases.size()};
}

// Times the points in this program and another, and prints this one's rows; `old` has the other's.
void MeasureInTurn(const AgainstRun& against, const bench::Topic& topic,
                   const std::vector<bench::Point>& points, const BenchFlags& flags,
                   std::optional<bench::BenchRun>& old, bench::BenchRun& run) {
  MeasureProgress progress;
  std::vector<bench::BenchRun> runs;
  const auto take = [&] {
    progress.Clear();
    if (runs.size() < 2 || runs[1].rows.empty()) return;
    old = runs[0];
    run.rows = runs[1].rows;
    run.rounds = runs[1].rounds;
    bench::ResultTable table(points, flags.details);
    std::fputs(table.Lines(Ranked(topic, run.rows)).c_str(), stdout);
    for (const bench::BenchRun& program : runs)
      for (const bench::Measurement& row : program.rows)
        if (const std::string text = bench::ImpreciseText(row, against.precision); !text.empty())
          std::printf("%s: %s\n", row.Name().c_str(), text.c_str());
  };
  try {
    RunAgainst(
        against,
        {.progress = [&](const std::string& what, double over) { progress.Show(what, over); },
         .note =
             [&](const std::string& line) {
               progress.Clear();
               std::printf("%s\n", line.c_str());
             }},
        runs);
  } catch (...) {
    take();
    throw;
  }
  take();
}

// Prints and writes what was measured; returns the exit code. Another thread that calls it, too,
// waits until the process has ended.
int Finish(Results& results, const BenchFlags& flags) {
  results.mutex.lock();  // and is never unlocked
  const bench::BenchRun& run = results.run;
  std::fputs(("\n" + bench::ResultTable::Warnings(run.rows)).c_str(), stdout);
  int code = 0;
  if (results.old && !run.rows.empty())
    code = PrintComparison(bench::CompareRuns(*results.old, run), flags.allowed);
  flags.files.Write(run, results.old);
  std::fflush(stdout);
  return code;
}

// Ends the run for a signal, while its case is prepared or hangs; returns the last sentence.
std::string FinishEarly(Results& results, const BenchFlags& flags) {
  std::string text = Format("{}: the case at hand is left out", InterruptedText(InterruptSignal()));
  try {
    Finish(results, flags);
  } catch (const std::exception& error) {
    text += Format("; {}", error.what());
  }
  internal::RemoveUnfinished();
  return text;
}

// Lets a signal end the run after its round; where that takes longer, as the preparation of a case
// may, what was measured is written without it. Passes of --against, which are processes, are
// waited for.
void WatchRun(const BenchFlags& flags) {
  constexpr int kPatience = 1;  // seconds
  if (flags.IsAgainst()) return WatchForInterrupt();
  WatchForInterrupt(kPatience, [flags] { return FinishEarly(TheResults(), flags); });
}

int RunTopic(const bench::Topic& topic, const BenchFlags& flags) {
  const std::vector<bench::Point> points = bench::OnlyMatching(
      topic, bench::PointsOf(topic, flags.suite, AxesWithCaches(flags)), flags.only);
  if (flags.list) {
    for (const bench::Point& point : points)
      std::printf("%s\n", bench::NameOf(topic, point).c_str());
    return 0;
  }
  CheckEffects(topic, points, flags);
  bench::CheckPoints(topic, points);
  CheckPointsMemory(topic, points, flags);
  WarnOfPlugins();
  bench::BenchRun& run = TheResults().run;
  std::optional<bench::BenchRun>& old = TheResults().old;
  old = flags.files.OldRun();
  flags.files.CheckOutputs();
  const AgainstRun against = AgainstRunOf(topic, points, flags);
  run = {.machine = MachineName(),
         .date = Today(),
         .topic = topic.name,
         .rounds = flags.Rounds(),
         .rows = {},
         .context = ContextOfRun()};
  WatchRun(flags);
  if (flags.IsAgainst()) CheckAgainst(against);
  if (old) bench::CheckComparable(*old, run);
  std::fputs(Heading(topic, run, points, flags).c_str(), stdout);
  std::exception_ptr failure;  // what was measured before it is kept
  try {
    if (flags.IsAgainst())
      MeasureInTurn(against, topic, points, flags, old, run);
    else
      Measure(topic, points, flags, TheResults());
  } catch (...) {
    failure = std::current_exception();
  }
  const int code = Finish(TheResults(), flags);
  if (failure) std::rethrow_exception(failure);
  if (Interrupted()) return InterruptedExit(InterruptSignal());
  return code;
}

int ListTopics() {
  std::string text = "Topics (tessera bench TOPIC --help):\n";
  size_t width = 0;
  for (const bench::Topic* topic : bench::Topics()) width = std::max(width, topic->name.size());
  for (const bench::Topic* topic : bench::Topics())
    text += Format("  {:<{}}  {}\n", topic->name, static_cast<int64_t>(width), topic->help);
  std::fputs(text.c_str(), stdout);
  return 0;
}

void AddTopic(Command bench, const bench::Topic& topic) {
  Command command = bench.AddCommand(topic.name, topic.help);
  const auto f = std::make_shared<BenchFlags>();
  AddBenchFlags(command, topic, f);
  command.Run([f, &topic] { return RunTopic(topic, *f); });
}

std::string UnknownTopic(const std::string& word) {
  std::vector<std::string> names;
  for (const bench::Topic* topic : bench::Topics()) names.push_back(topic->name);
  return Format("bench: no topic '{}': expected {}", word, bench::ListOfNames(names));
}

}  // namespace

void AddBenchCommand(Command app) {
  Command command = app.AddCommand("bench", kDescription);
  command.Footer(kFooter);
  // Topics are added only for this command, since they look at the machine's threads.
  const auto add_topics = [](Command bench) {
    for (const bench::Topic* topic : bench::Topics()) AddTopic(bench, *topic);
    AddBenchShow(bench);
  };
  command.AddCommandsWhenChosen(add_topics, ListTopics, UnknownTopic);
}

}  // namespace tessera::cli
