#include "cli/bench/bench_flags.h"

#include "cli/config_flags.h"
#include "cli/memory_limit_flag.h"
#include "cli/show/numbers.h"
#include "runtime/base/joined.h"

namespace tessera::cli {
namespace {

constexpr char kDetailsHelp[] =
    "Print below each row what it reads and computes; of a lookup or an update also the share of "
    "row reads that LRU caches of this machine's sizes would hit";

constexpr char kCountersHelp[] =
    "Count cycles, instructions, stalled cycles, misses of L2, L3 and the data TLB, and bytes of "
    "memory (on Intel's servers) of a call, in calls beside the timed ones, and print them below "
    "each row. What perf_event_open refuses is said once, and left out";

std::string SuitesHelp(const bench::Topic& topic) {
  std::string text = "Run a list of cases:";
  for (const bench::Suite& suite : topic.suites)
    text += (text.back() == ':' ? " " : "; ") + suite.name + ", " + suite.help;
  return text;
}

// Returns the flag of the caches.
Flag AddAxes(Command command, const bench::Topic& topic, const std::shared_ptr<BenchFlags>& flags) {
  std::optional<Flag> caches;
  for (const bench::Axis& axis : bench::AxesOf(topic)) {
    const std::string values = internal::Joined(axis.values, ",");
    const auto take = [flags, name = axis.name](const std::vector<std::string>& given) {
      flags->axes[name] = given;
    };
    Flag flag = command.AddWords("--" + axis.name, take, Format("{} [{}]", axis.help, values));
    flag.Value("V,…").Group("Axes");
    if (axis.name == bench::kCachesAxis) caches = flag;
  }
  return *caches;
}

}  // namespace

void AddBenchFlags(Command command, const bench::Topic& topic,
                   const std::shared_ptr<BenchFlags>& f) {
  const Flag caches = AddAxes(command, topic, f);
  if (topic.plugins) AddPluginFlag(command);
  if (!topic.suites.empty()) command.Add("--suite", f->suite, SuitesHelp(topic)).Value("NAME");
  command
      .Add("--only", f->only,
           "Only cases whose name, as --list prints it or without topic and threads, this regular "
           "expression matches")
      .Value("REGEX");
  const Flag list =
      command.Add("--list", f->list, "Print the names of the cases, and time nothing");
  command.Add("--rounds", f->rounds, "Times that each contender is timed, over all passes")
      .Within(NumbersFrom(1, 10000))
      .ShowDefault("15; with --precision and --against 15 for each of --passes")
      .Value("N");
  command
      .Add(
          "--passes", f->passes,
          "Go through all cases so often, each time with a part of the rounds: comparisons of runs "
          "on a machine that others use need 5")
      .Within(NumbersFrom(1, 10000))
      .ShowDefault("1; with --precision and --against 5")
      .Value("N");
  command
      .Add("--min-time", f->min_time,
           "Seconds that ours is timed at least in each case: rounds are added (at most 10,000 in "
           "all)")
      .Within(NumbersFrom(0.0, 3600.0))
      .Value("SECONDS");
  command
      .Add("--precision", f->precision,
           "Go through the cases again until each is timed so well that a comparison would find a "
           "change of this many percent in 19 of 20 runs (at most 100 passes of a case)")
      .Within(NumbersFrom(0.1, 100.0))
      .Value("PERCENT");
  Flag cold = command.Add("--cold", f->cold, "Short for --caches cold").Excludes(caches);
  command.Add("--warm", f->warm, "Short for --caches warm").Excludes(cold).Excludes(caches);
  command
      .Add("--flush-mib", f->flush_mib,
           "Memory read to flush caches, in MiB (twice the largest cache)")
      .Within(NumbersFrom(1, 1 << 20))
      .Value("N");
  command.Add("--details", f->details, topic.details.empty() ? kDetailsHelp : topic.details);
  const Flag counters = command.Add("--counters", f->counters, kCountersHelp);
  AddMemoryLimitFlag(command, f->memory_limit);
  const Flag compare = f->files.AddTo(command);
  f->files.AddAgainstTo(command).Excludes(compare).Excludes(list).Excludes(counters);
  AddAllowTo(command, f->allowed);
}

}  // namespace tessera::cli
