// tessera sweep: trains a configuration with many settings, each as a run of tessera train --run,
// and compares the runs.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/outputs.h"
#include "cli/runs/compared_folders.h"
#include "cli/runs/run_folder.h"
#include "cli/show/log.h"
#include "cli/show/measure_progress.h"
#include "cli/show/numbers.h"
#include "cli/sweep/halving.h"
#include "cli/sweep/processes.h"
#include "cli/sweep/sweep_plan.h"
#include "cli/train/flags/train_command_flags.h"
#include "comm/mpi/mpi_communicator.h"
#include "runtime/base/check.h"
#include "runtime/base/machine.h"
#include "runtime/base/process_text.h"
#include "runtime/files/files.h"
#include "runtime/files/output_lock.h"
#include "train/evaluation_metric.h"
#include "train/task_rows.h"

namespace tessera::cli {
namespace {

constexpr char kFooter[] =
    "\n"
    "Examples:\n"
    "  tessera sweep sweeps/rates --grid optimizer.sparse.lr=0.02,0.1 --seeds 3 -- \\\n"
    "    --config examples/planted.json\n"
    "  tessera sweep sweeps/drawn --random 20 --range optimizer.sparse.lr=0.001:1:log --jobs 4 \\\n"
    "    -- --config examples/criteo.json --data clicks.tsv --eval-rows 56000:64000\n"
    "\n"
    "A trial is a process, tessera train with the options after --, --set for each key, --seed and "
    "--run; tessera runs says what its folder has. DIR/sweep.json has the plan, DIR/NAME.log what "
    "a trial printed. Every trial is checked as tessera train --dry-run does before the first one "
    "starts. A trial that fails does not stop the others; the exit code is then 1. The same "
    "command goes on: finished trials stay, others go on from their checkpoints. After a kill -9 "
    "of "
    "the sweep alone its trials still run: the same command is refused until they have ended. "
    "Another sweep in the folder is refused, but --jobs, --metric, --json, --svg and --html may "
    "change.\n"
    "Draws depend on --sweep-seed alone. Each draw is tried with each setting of --grid, and each "
    "setting with each seed; for more of any of them begin another sweep.\n"
    "--halving goes by the means over seeds of the settings' best values of --metric. While a "
    "trial "
    "fails no setting is left out: the same command tries it again first.\n"
    "Without --threads after --, trials that run at once share the cores. They also share the "
    "memory and the GPU, which is checked for one trial at a time.\n";

struct Flags {
  std::string folder;
  std::vector<std::string> train;  // the words after --
  SweepFlags values;
  ComparisonFlags comparison;
  int jobs = 1;
};

std::string RunOf(const Flags& flags, const Trial& trial) {
  return PathIn(flags.folder, trial.name);
}

bool IsFinished(const Flags& flags, const Rung& rung, const Trial& trial) {
  const std::optional<RunFinish> finish = FinishOf(ReadRunDocument(RunOf(flags, trial)));
  return finish && (!finish->stopped_early.empty() || finish->epochs >= rung.epochs.value_or(0));
}

std::vector<const Trial*> Unfinished(const Flags& flags, const SweepPlan& plan, const Rung& rung) {
  std::vector<const Trial*> trials;
  for (const size_t t : rung.trials)
    if (!IsFinished(flags, rung, plan.trials[t])) trials.push_back(&plan.trials[t]);
  return trials;
}

// The words of a trial's process, with the configuration at a path.
std::vector<std::string> WordsOf(const Flags& flags, const Rung& rung, const Trial& trial,
                                 const std::string& config) {
  std::vector<std::string> words = TrialWords(trial, flags.train, config, RunOf(flags, trial));
  if (rung.epochs) words.insert(words.end(), {"--epochs", std::to_string(*rung.epochs)});
  return words;
}

// Has each of the trials checked by tessera train --dry-run. Throws Error for the first that is
// refused.
void CheckTrials(const Flags& flags, const std::string& config, const Rung& rung,
                 const std::vector<const Trial*>& trials) {
  std::vector<ProcessStart> starts;
  for (const Trial* trial : trials) {
    ProcessStart start{WordsOf(flags, rung, *trial, config),
                       PathIn(flags.folder, "." + trial->name + ".check")};
    start.words.push_back("--dry-run");
    starts.push_back(std::move(start));
  }
  std::string refused;
  RunProcesses(starts, flags.jobs, [&](size_t t, const std::string& why) {
    if (!why.empty() && refused.empty()) refused = Format("trial {}: {}", trials[t]->name, why);
  });
  for (const ProcessStart& start : starts) std::filesystem::remove(start.log);
  if (!refused.empty()) throw Error(refused);
}

// The process that trains the trial, such as one that a killed sweep left; "" for none.
std::string TrainedBy(const Flags& flags, const Trial& trial) {
  for (const auto of : {OutputLock::Of::kFile, OutputLock::Of::kFolder}) {
    const std::string checkpoint = CheckpointName("last", of == OutputLock::Of::kFolder);
    const std::string holder = LockHolder(PathIn(RunOf(flags, trial), checkpoint), of);
    if (!holder.empty()) return holder;
  }
  return "";
}

// Throws for a trial that still runs: this sweep would wait for it, or count it as failed.
void CheckNoneRuns(const Flags& flags, const std::vector<const Trial*>& trials) {
  for (const Trial* trial : trials)
    if (const std::string holder = TrainedBy(flags, *trial); !holder.empty())
      throw Error(
          Format("{}: {} still trains trial {}, as a sweep that was killed left it: wait until it "
                 "ends, or end it; the same command goes on then",
                 flags.folder, holder, trial->name));
}

struct Failure {
  std::string trial, why;
  bool elsewhere = false;  // another process trains it
};

// Trials at a time share the cores, unless the user says how many threads each has.
std::vector<ProcessStart> StartsOf(const Flags& flags, const TrainFlags& train, const Rung& rung,
                                   const std::vector<const Trial*>& trials) {
  std::vector<ProcessStart> starts;
  const std::string config = PathIn(flags.folder, kSweepConfig);
  for (const Trial* trial : trials) {
    starts.push_back({WordsOf(flags, rung, *trial, config), RunOf(flags, *trial) + ".log"});
    if (train.threads == 0 && flags.jobs > 1)
      starts.back().words.insert(
          starts.back().words.end(),
          {"--threads", std::to_string(DefaultThreadsOfStarted(flags.jobs))});
  }
  return starts;
}

std::vector<Failure> TrainTrials(const Flags& flags, const TrainFlags& train, const Rung& rung,
                                 const std::vector<const Trial*>& trials) {
  std::vector<Failure> failures;
  if (trials.empty()) return failures;
  size_t ended = 0;
  MeasureProgress progress;
  const auto show = [&] {
    progress.Show(Format("{} of {}", ended, Counted(std::ssize(trials), "trial")),
                  static_cast<double>(ended) / static_cast<double>(trials.size()));
  };
  show();
  const std::vector<ProcessStart> starts = StartsOf(flags, train, rung, trials);
  RunProcesses(starts, flags.jobs, [&](size_t t, const std::string& why) {
    ++ended;
    const std::string& name = trials[t]->name;
    const bool elsewhere = !why.empty() && !TrainedBy(flags, *trials[t]).empty();
    const char* const how = why.empty() ? "finished"
                            : elsewhere ? "is trained by another process"
                                        : "failed";
    Note(Format("{} {}", name, how), {{"trial", name}, {"ended", how}});
    if (!why.empty()) failures.push_back({name, why, elsewhere});
    show();
  });
  return failures;
}

// The comparison of the trials that have begun, printed; none without such.
std::optional<RunComparison> Compare(const Flags& flags, const SweepPlan& plan) {
  std::vector<std::string> begun;
  for (const Trial& trial : plan.trials)
    if (const std::string run = RunOf(flags, trial); HasBegun(run)) begun.push_back(run);
  if (begun.empty()) return {};
  return CompareFolders(begun, flags.comparison, /*needs_curve=*/false);
}

int SayInterrupted(const Flags& flags) {
  Warn(Format("{}: the same command goes on with {}", InterruptedText(InterruptSignal()),
              flags.folder));
  return InterruptedExit(InterruptSignal());
}

void ThrowIfAny(const Flags& flags, const std::vector<Failure>& failures, size_t trials) {
  if (failures.empty()) return;
  int64_t failed = 0;
  for (const auto& [trial, why, elsewhere] : failures) {
    if (elsewhere) continue;
    ++failed;
    std::printf("failed: %s: %s\n", trial.c_str(), why.c_str());
  }
  if (failed == 0)
    throw Error(
        Format("{}: another process trains trial {}: when it has ended, the same command goes on",
               flags.folder, failures.front().trial));
  throw Error(
      Format("{}: {} of {} failed; their logs are beside their folders, and the same command tries "
             "them again",
             flags.folder, failed, Counted(static_cast<int64_t>(trials), "trial")));
}

Outputs Claim(const Flags& flags, const TrainFlags& train) {
  std::vector<std::string> reads = train.data;
  reads.insert(reads.end(), train.eval.begin(), train.eval.end());
  reads.push_back(train.config);
  Outputs outputs(/*overwrite=*/false, reads);
  const std::string document = PathIn(flags.folder, kSweepDocument);
  outputs.AddFile(document, /*begun_from=*/document);
  ClaimComparison(flags.comparison, outputs);
  return outputs;
}

// Trains rung after rung, from this one, until one has failures.
std::vector<Failure> TrainRungs(const Flags& flags, const TrainFlags& train, SweepPlan& plan,
                                Rung rung) {
  while (true) {
    std::vector<Failure> failures = TrainTrials(flags, train, rung, Unfinished(flags, plan, rung));
    if (Interrupted() || !failures.empty()) return failures;
    std::optional<Rung> next = NextRung(flags.folder, plan, rung, flags.comparison.metric);
    if (!next) return {};
    rung = std::move(*next);
    const int64_t best = std::ssize(rung.trials);
    Note(Format("the best {} {} on to epoch {}", Counted(best, "trial"), best == 1 ? "goes" : "go",
                *rung.epochs),
         {{"trials", best}, {"epochs", *rung.epochs}});
  }
}

int Sweep(const Flags& flags) {
  if (UnderMpirun()) throw Error("tessera sweep starts processes itself: leave mpirun out");
  const TrainFlags train = ParseTrainOptions(flags.train);
  SweepPlan plan = MakeSweepPlan(flags.values, flags.train, train);
  const TrainConfig& config = plan.trials.front().config;
  if (!flags.comparison.metric.empty() && flags.comparison.metric != kTrainLoss)
    FindEvaluationMetric(TasksOf(config.model, config.data), flags.comparison.metric);
  GoOnWithSweep(flags.folder, plan);
  const Outputs outputs = Claim(flags, train);
  GoOnWithSweep(flags.folder, plan);  // another process may have changed it until now
  WatchForInterrupt();
  const Rung rung = RungToTrain(flags.folder, plan);
  const std::vector<const Trial*> trials = Unfinished(flags, plan, rung);
  // Trials that halving has left out before this rung are finished, too.
  const int64_t all = std::ssize(plan.trials), finished = all - std::ssize(trials);
  Note(Format("{}, of which {} {} finished", Counted(all, "trial"), finished,
              finished == 1 ? "is" : "are"),
       {{"trials", all}, {"finished", finished}});
  CheckNoneRuns(flags, trials);
  CheckTrials(flags, train.config, rung, trials);
  if (Interrupted()) return SayInterrupted(flags);
  WriteSweepDocument(flags.folder, plan);
  ReplaceTextFile(PathIn(flags.folder, kSweepConfig), plan.config_text);
  const std::vector<Failure> failures = TrainRungs(flags, train, plan, rung);
  if (Interrupted()) return SayInterrupted(flags);
  const std::optional<RunComparison> comparison = Compare(flags, plan);
  ThrowIfAny(flags, failures, plan.trials.size());
  if (comparison) ThrowIfUnread(*comparison);
  return 0;
}

void AddValueFlags(Command command, SweepFlags& f) {
  command
      .Add("--grid", f.grid,
           "Try each of these values of a key of the configuration, as --set names it: "
           "optimizer.sparse.lr=0.01,0.1. May be given several times: all combinations are tried")
      .OneAtATime()
      .Value("KEY=V1,V2");
  command.Add("--random", f.random, "Draw N settings, each with a number from every --range")
      .Within(NumbersFrom(int64_t{1}, int64_t{10'000}))
      .Value("N");
  command
      .Add("--range", f.ranges,
           "With --random: draw a real number from LOW to HIGH for a key; with :log its logarithm "
           "is "
           "uniform. Keys that take whole numbers go into --grid")
      .OneAtATime()
      .Value("KEY=LOW:HIGH[:log]");
  command.Add("--sweep-seed", f.sweep_seed, "Seed of the draws")
      .Within(NumbersFrom(int64_t{0}, int64_t{1} << 40))
      .ShowDefault()
      .Needs("--random")
      .Value("S");
  command
      .Add("--halving", f.halving,
           "Successive halving: train all settings until the first of --epochs, the best 1/ETA of "
           "them ETA times as long, and so on")
      .Within(NumbersFrom(int64_t{2}, int64_t{1000}))
      .Value("ETA");
  command.Add("--epochs", f.epochs, "With --halving: the epochs of the first and the last settings")
      .Value("FIRST:LAST");
  command
      .Add("--seeds", f.seeds,
           "Train each setting with each of these seeds, as 3,5,9; N alone: with the seeds 1 to N")
      .Value("S1,S2|N");
}

void AddOwnFlags(Command command, SweepFlags& values, int& jobs, ComparisonFlags& comparison) {
  AddValueFlags(command, values);
  command.Add("--jobs", jobs, "Train N trials at a time")
      .Within(NumbersFrom(1, 1024))
      .ShowDefault()
      .Value("N");
  AddComparisonFlags(command, comparison);
}

bool IsOfTrain(const std::string& word) {
  TrainFlags train;
  return IsFlagOf(word, [&](Command command) { AddTrainFlags(command, train); });
}

// Throws Error for a flag of the sweep among the options of tessera train.
void CheckPlaces(const std::vector<std::string>& after) {
  SweepFlags values;
  ComparisonFlags comparison;
  int jobs = 1;
  const auto add = [&](Command command) { AddOwnFlags(command, values, jobs, comparison); };
  for (const std::string& word : after)
    if (IsFlagOf(word, add) && !IsOfTrain(word))
      throw Error(Format("{} after --: it is a flag of tessera sweep: write it before --", word));
}

// Whether the words after -- alone have the flag: they are taken for the sweep's where a word
// before them belongs to nothing.
bool StandsAfterDashes(const std::string& flag) {
  const std::vector<std::string> words = CommandWords();
  const auto dashes = std::ranges::find(words, "--");
  const auto is_flag = [&](const std::string& word) {
    return word == flag || word.starts_with(flag + "=");
  };
  return dashes != words.end() && std::none_of(words.begin(), dashes, is_flag);
}

}  // namespace

void AddSweepCommand(Command app) {
  Command command = app.AddCommand(
      "sweep",
      "Train with many settings of a configuration, each as a run of tessera train --run, and "
      "compare the runs.");
  const auto f = std::make_shared<Flags>();
  command.Add("folder", f->folder, "The folder that gets the trials").Required().Value("DIR");
  command.Add("options", f->train, "Options of tessera train, after --").Value("-- OPTIONS");
  AddOwnFlags(command, f->values, f->jobs, f->comparison);
  command.Footer(kFooter);
  command.SayElsewhere([](const std::string& flag) -> std::string {
    if (!IsOfTrain(flag)) return "";
    if (StandsAfterDashes(flag))
      return "a word before -- belongs to no flag: --grid and --range take one key each, and are "
             "given again for the next one";
    return Format(
        "it is a flag of tessera train, and those stand after --: tessera sweep DIR "
        "--grid KEY=V1,V2 -- --config FILE {} …; before -- stand those of the sweep",
        flag);
  });
  command.Run([f] {
    CheckPlaces(f->train);
    return Sweep(*f);
  });
}

}  // namespace tessera::cli
