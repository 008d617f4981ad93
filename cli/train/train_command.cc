// tessera train: trains a model by its configuration, on files of rows or on synthetic data.
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "cli/command.h"
#include "cli/config_flags.h"
#include "cli/files.h"
#include "cli/gpu_ranks.h"
#include "cli/interrupt.h"
#include "cli/memory_limit_flag.h"
#include "cli/ranks/wrong_start.h"
#include "cli/show/error_text.h"
#include "cli/show/log.h"
#include "cli/show/numbers.h"
#include "cli/train/checkpoint_room.h"
#include "cli/train/dry_run.h"
#include "cli/train/flags/keep_last.h"
#include "cli/train/flags/rank_flags.h"
#include "cli/train/flags/train_command_flags.h"
#include "cli/train/flags/verify_flags.h"
#include "cli/train/label_notes.h"
#include "cli/train/mllog.h"
#include "cli/train/rank_reports.h"
#include "cli/train/ranks_report.h"
#include "cli/train/resumed.h"
#include "cli/train/run_flags.h"
#include "cli/train/run_recorder.h"
#include "cli/train/train_command_ranks.h"
#include "cli/train/train_output.h"
#include "cli/train/train_report.h"
#include "comm/leader.h"
#include "comm/mpi/mpi_communicator.h"
#include "runtime/base/check.h"
#include "runtime/base/machine.h"
#include "runtime/context.h"
#include "runtime/device/device_properties.h"
#include "runtime/files/files.h"
#include "runtime/files/trace.h"
#include "train/checkpoint/saved_form.h"
#include "train/config/start_checks.h"
#include "train/groups/rank_groups.h"
#include "train/pipeline/pipeline_kind.h"
#include "train/pipeline/trainer_pipeline.h"
#include "train/run/evaluation_schedule.h"
#include "train/run/resume_changes.h"
#include "train/run/training_run.h"
#include "train/training_memory.h"

namespace tessera::cli {
namespace {

constexpr char kDescription[] =
    "Train a recommender model (DLRM and its kin, DeepFM, MMoE, PLE, two towers) whose embedding "
    "tables are updated inside backward.";

TrainConfig FindConfig(const TrainFlags& flags, const Resumed& resumed) {
  if (!flags.config.empty()) return ReadConfigFile(flags.config, flags.set);
  if (flags.resume.empty())
    throw Error(
        "no configuration: give --config FILE, for example examples/planted.json, which needs no "
        "data");
  if (resumed.config.empty()) throw NoConfiguration(flags.resume, resumed.of_program);
  return ReadConfigText(resumed.config, flags.resume, flags.set);
}

// Rows for evaluation are those of the time that the training found for its split, and all rows are
// prepared as its rows.
void KeepFound(const TrainFlags& flags, const Resumed& resumed, TrainConfig& config) {
  if (MayHaveFound(resumed.config, config.data))
    TakeFound(ParseTrainConfig(resumed.config, flags.resume).data, config.data);
}

std::string Machine(Context& ctx, bool with_ranks) {
  const int count = ctx.threads().threads();
  const std::string threads = Counted(count, "thread") + (with_ranks ? " a rank" : "");
  if (ctx.device() == Device::Cpu()) return threads;
  return Format("{} ({}), {}", ctx.device(), PropertiesOf(ctx.device()).name, threads);
}

// "AMD EPYC, 2 cores", or the GPU's name.
std::string PlatformOf(Context& ctx) {
  return ctx.device() == Device::Cpu() ? MachineName() : PropertiesOf(ctx.device()).name;
}

std::string ModelLine(const Trainer& trainer, Context& ctx) {
  int64_t dense = 0;
  for (const NamedParameter& p : trainer.model().Parameters()) dense += p.variable.value().numel();
  return Format("{}, {} dense parameters, {}", TablesText(trainer.config().tables), Count(dense),
                Machine(ctx, trainer.comm() != nullptr));
}

void Resume(const TrainFlags& flags, Trainer& trainer, const DataSets& data, Resumed& resumed,
            bool is_leader) {
  if (!LoadResumed(flags, trainer, resumed, is_leader)) {
    if (is_leader) Warn(flags.resume + " holds weights alone: optimizers start afresh");
    if (trainer.comm() == nullptr) resumed.chain.reset();
    return;
  }
  if (!is_leader) return;
  const TrainingProgress progress = trainer.progress();
  Note(Format("resumed {}: {} done, next row {}, step {}", flags.resume,
              Counted(progress.epoch, "epoch"), progress.row, progress.step),
       {{"epoch", progress.epoch}, {"row", progress.row}, {"step", progress.step}});
  const std::string nothing_left = NothingLeftText(trainer.config(), progress, EvaluatedIn(data));
  if (!nothing_left.empty()) Note(nothing_left);
}

// Says what of its evaluations the run that goes on has yet to make, and what it lacks.
void SayEvaluationsBefore(const TrainFlags& flags, const TrainConfig& config, const DataSets& data,
                          const std::string& evaluation) {
  const std::optional<EvaluatedRows> rows = EvaluatedIn(data);
  for (const std::string& text : {DueText(config, evaluation, rows),
                                  MissingBest(flags.evaluation.best, config, evaluation, rows)})
    if (!text.empty()) Note("resume: " + text);
}

// Refuses changes that make no sense; returns one sentence for each change that is accepted.
std::vector<std::string> ChangesSince(const TrainFlags& flags, const TrainConfig& config,
                                      const DataSets& data, const Resumed& resumed) {
  const std::optional<ResumedRun> run = RunOf(flags, resumed);
  if (!run) return {};
  std::vector<std::string> changes =
      ResumeChanges(*run, config, data.train_identity(), flags.other_data);
  for (std::string& change : PluginChanges(run->config)) changes.push_back(std::move(change));
  const std::string forgotten = ForgottenText(config, run->progress.evaluation, EvaluatedIn(data));
  if (!forgotten.empty()) changes.push_back(forgotten);
  return changes;
}

TrainingRunOptions MakeRunOptions(const TrainFlags& flags, const Resumed& resumed) {
  TrainingRunOptions options;
  options.checkpoint = flags.checkpoint;
  options.checkpoint_every = flags.checkpoint_every;
  options.keep_last = flags.keep_last;
  options.overwrites = flags.overwrite;
  options.goes_on_there = GoesOnThere(flags, resumed.progress);
  options.best = flags.evaluation.best;
  options.incremental = IncrementalOf(flags);
  options.resumed = resumed.chain;
  if (resumed.form == SavedForm::kRankChains) options.resumed_of_ranks = flags.resume;
  options.pipeline = ParsePipelineKind(flags.pipeline);
  options.metrics = {
      .json_lines = flags.metrics, .tensorboard = flags.tensorboard, .add_lines = !flags.overwrite};
  options.stop = Interrupted;
  options.on_step = [](const StepReport& step) { ReportStep(step.step); };
  return options;
}

RunStart StartOf(Context& ctx, const Trainer& trainer, const TrainFlags& flags) {
  return {.machine = PlatformOf(ctx),
          .device = ToString(ctx.device()),
          .pipeline = flags.pipeline,
          .wire_codecs = flags.wire_codecs.empty() ? "fp32" : flags.wire_codecs,
          .threads = ctx.threads().threads(),
          .ranks = trainer.comm() == nullptr ? 1 : trainer.comm()->size(),
          .groups = trainer.num_groups(),
          .sync_interval = flags.sync_interval.value_or(1),
          .from = trainer.progress()};
}

// Adds what became of sharding groups, which are no part of the configuration.
void AddGroupsChange(const std::optional<TrainingProgress>& from,
                     const std::optional<TrainingRanks>& ranks, std::vector<std::string>& changes) {
  if (!from) return;
  const bool in_groups = ranks && ranks->num_groups() > 1;
  const std::string change = GroupsChange(*from, in_groups ? GroupsText(*ranks) : "");
  if (!change.empty()) changes.push_back(change);
}

void SayChanges(const std::vector<std::string>& changes) {
  for (const std::string& change : changes) Note("resume: " + change);
}

void SayRemoved(const TrainFlags& flags, const std::optional<TrainingProgress>& from) {
  const std::string removed = RemovedText(flags, from);
  if (!removed.empty()) Note("the first save removes " + removed);
}

int TrainOnRank(const TrainFlags& flags, const TrainConfig& config, const DataSets& data,
                const MemoryThere& there, Resumed& resumed, Communicator* host,
                const RunLogs& logs) {
  const bool is_leader = host == nullptr || IsLeader(*host);
  if (host != nullptr) CheckRanksAgree(flags, *host, config, data, resumed.progress);
  std::vector<std::string> changes;
  OnAllAlike(host, [&] { changes = ChangesSince(flags, config, data, resumed); });
  Context ctx({.device = host ? DeviceOfRank(flags.device, *host) : ParseDevice(flags.device),
               .threads = ThreadsOfRank(flags),
               .seed = config.seed,
               .pool = nullptr,
               .dense_products = config.dense_products});
  if (is_leader) {
    SayIfProductsAreSlow(ctx);
    WarnOfSettings(config);
    WarnOfRows(flags, config);
    WarnOfSaves(flags);
    WarnOfPlugins();
  }
  if (logs.mllog != nullptr && is_leader) logs.mllog->Settings(config, PlatformOf(ctx));
  const GpuRanks gpus = host ? ConnectRanks(flags.comm, flags.device, ctx, *host) : GpuRanks();
  if (is_leader && !gpus.why_host.empty()) Note(gpus.why_host);
  Communicator* const comm = gpus.nccl ? gpus.nccl.get() : host;
  const std::optional<TrainingRanks> ranks = PlanRanks(ctx, flags, config, there, gpus, comm);
  AddGroupsChange(resumed.progress, ranks, changes);
  CheckCheckpointRoom(flags, config, resumed.progress, host);
  std::unique_ptr<RunRecord> record = ReadRecord(flags, config, ranks);
  if (flags.dry_run) {
    if (is_leader) SayChanges(changes);
    const TrainingPlace place = HostPlace(ctx, ranks);
    if (is_leader)
      PrintDryRun(flags, config, data, place, WithRanksHere(there, flags, ctx, place),
                  resumed.progress);
    return 0;
  }
  if (ranks) SavePlan(flags, *ranks);
  Trainer trainer = ranks ? Trainer(ctx, config, *ranks) : Trainer(ctx, config);
  if (is_leader) Note(ModelLine(trainer, ctx));
  if (is_leader) SayLabelsLeft(config);
  if (is_leader) WarnOfLabelsAmongInputs(config);
  if (is_leader) SayRows(config, data);
  if (!flags.resume.empty()) Resume(flags, trainer, data, resumed, is_leader);
  if (is_leader) SayChanges(changes);
  if (is_leader) SayRemoved(flags, resumed.progress);
  if (is_leader && resumed.progress)
    SayEvaluationsBefore(flags, config, data, resumed.progress->evaluation);
  if (logs.run != nullptr && is_leader) logs.run->Begin(config, data, StartOf(ctx, trainer, flags));
  const std::unique_ptr<RunVerifier> verifier = BeginVerify(flags, std::move(record), trainer);
  LossCurve curve;
  const TrainingRunOptions options = MakeRunOptions(flags, resumed);
  const TrainingRunReport report = is_leader ? RunWithOutput(options, trainer, data, curve, logs)
                                             : RunTraining(trainer, data, options);
  const std::optional<VerifyReport> verified = EndVerify(verifier.get(), is_leader);
  const int signal = report.stopped ? SignalOfRanks(comm, InterruptSignal()) : 0;
  if (host != nullptr && !report.stopped)
    for (const auto& items : {data.unknown_items(), data.unknown_eval_items()})
      AddItemsOfRanks(*host, *items);
  if (is_leader && report.stopped) SayInterrupted(flags, signal);
  if (is_leader && !report.stopped)
    SayResults(flags, config, data, report, curve, verified, logs.run.get());
  if (logs.run != nullptr && is_leader) logs.run->End(report, trainer.progress());
  return InterruptedExit(signal);
}

// Writes the spans of all ranks. Ranks that are threads share one trace.
void WriteTrace(const std::string& path, const Trace& trace, Communicator* comm) {
  if (comm == nullptr) return Trace::Write(path, {trace.Events()});
  const bool threads = comm->backend() == "local";
  const std::vector<std::string> of_ranks =
      comm->GatherStringsSync(threads ? "" : trace.Events(), "trace");
  if (IsLeader(*comm)) Trace::Write(path, threads ? std::vector{trace.Events()} : of_ranks);
}

// Whether this process does what one does for all, as writing logs: of ranks that are processes the
// first one.
bool IsFirstProcess() { return !UnderMpirun() || MpiRank() == 0; }

RunLogs OpenLogs(const TrainFlags& flags) {
  RunLogs logs;
  if (!IsFirstProcess() || flags.dry_run) return logs;
  if (!flags.run.empty()) logs.run = std::make_unique<RunRecorder>(flags);
  if (!flags.evaluation.mllog.empty()) logs.mllog = std::make_unique<MlLog>(flags.evaluation.mllog);
  return logs;
}

// Returns train(); a RunDifference that ends it goes into --json, too, by the rank that writes it.
int SavingDifference(const TrainFlags& flags, bool is_leader, const std::function<int()>& train) {
  try {
    return train();
  } catch (const RunDifference& difference) {
    if (is_leader && !flags.json.empty())
      ReplaceTextFile(flags.json, DifferenceJson(difference.report()));
    throw;
  }
}

// A start, up to where the ranks meet.
struct Start {
  std::optional<Outputs> outputs;
  RunLogs logs;
  Resumed resumed;
  TrainConfig config;
  std::unique_ptr<DataSets> data;
  MemoryThere there;
};

// Checks flags and claims outputs, which the first process does for all.
void Claim(TrainFlags& flags, Start& start) {
  const bool with_ranks = WithRanks(flags);
  ApplyRunFlag(flags, with_ranks);
  CheckTrainFlags(flags, with_ranks);
  if (IsFirstProcess() && !flags.dry_run) BeginRunFolder(flags);
  start.outputs.emplace(ClaimOutputs(flags, with_ranks));
  start.logs = OpenLogs(flags);
}

// Reads and checks what is to be trained, on what, and from where.
void ReadStart(TrainFlags& flags, Start& start) {
  const bool with_ranks = WithRanks(flags);
  TrainConfig& config = start.config;
  DataSelection selection = ParseSelection(flags);
  selection.checks_ranges = IsFirstProcess();
  Resumed& resumed = start.resumed = ReadResumed(flags, with_ranks);
  config = WithFlags(FindConfig(flags, resumed), flags);
  const std::string& source = flags.config.empty() ? flags.resume : flags.config;
  CheckPluginRules(config, source, flags.device);
  CheckStart(config, source, with_ranks);
  KeepFound(flags, resumed, config);
  ApplyRunToEvaluations(flags, with_ranks, resumed.progress, config);
  ClaimBest(flags, with_ranks, RunOf(flags, resumed), *start.outputs);
  CheckKeptBeside(flags, resumed.progress);
  CheckPipelineKind(ParsePipelineKind(flags.pipeline), config);
  if (NumGroups(flags) > 1) CheckGroupTables(config);
  CheckVerify(flags, config);
  if (with_ranks) PrepareGpuRanks(flags.device, flags.comm);
  start.data = std::make_unique<DataSets>(config, selection);
  const DataSets& data = *start.data;
  config.data.split = data.split();  // with the time that was found, which checkpoints keep
  config.data.prepared = data.prepared();
  const TrainingRunOptions options = MakeRunOptions(flags, resumed);
  CheckEvaluations(config, data, options);
  if (options.metrics.any()) CheckTrainingMetrics(config);
  CheckEvalMetric(flags.evaluation, data);
  CheckRunData(flags, data);
  start.there = MemoryThereIs(flags.memory_limit);
  WatchForInterrupt(flags.stop_within);
  ReportProcess();
}

// Ends the log of a run that has failed, and gives its outputs back.
void EndStart(Start& start, const std::exception& error) {
  if (start.logs.run != nullptr) start.logs.run->Fail(ErrorText(error));
  start.outputs.reset();
}

WrongStart TryStart(TrainFlags& flags, Start& start) {
  WrongStart wrong;
  std::string* now = &wrong.claims;
  try {
    Claim(flags, start);
    now = &wrong.start;
    ReadStart(flags, start);
  } catch (const std::exception& error) {
    *now = error.what();
  }
  return wrong;
}

int TrainFrom(const TrainFlags& flags, Start& start, const std::optional<WrongStart>& wrong) {
  const bool traces = !flags.trace.empty() && !flags.dry_run;
  const auto trace = traces ? std::make_unique<Trace>() : nullptr;
  const auto train = [&](Communicator* comm) {
    if (wrong) ThrowWrongSync(*wrong, *comm);
    const int rank = comm == nullptr ? 0 : comm->rank();
    const TraceHere here(trace ? &trace->Thread(rank, "step") : nullptr);
    const int code = SavingDifference(flags, rank == 0, [&] {
      return TrainOnRank(flags, start.config, *start.data, start.there, start.resumed, comm,
                         start.logs);
    });
    if (trace) WriteTrace(flags.trace, *trace, comm);
    return code;
  };
  return OnRanks(flags, [&](Communicator* comm) {
    try {
      return train(comm);
    } catch (const std::exception& error) {
      if (UnderMpirun()) EndStart(start, error);  // the process ends without its destructors
      throw;
    }
  });
}

int Train(TrainFlags flags) {
  Start start;
  std::optional<WrongStart> wrong;
  try {
    if (UnderMpirun()) {
      wrong = TryStart(flags, start);
    } else {
      Claim(flags, start);
      ReadStart(flags, start);
    }
    return TrainFrom(flags, start, wrong);
  } catch (const std::exception& error) {
    EndStart(start, error);
    throw;
  }
}

}  // namespace

void AddTrainCommand(Command app) {
  Command command = app.AddCommand("train", kDescription);
  const auto flags = std::make_shared<TrainFlags>();
  AddTrainFlags(command, *flags);
  command.Run([flags] { return Train(*flags); });
}

}  // namespace tessera::cli
