#include "cli/train/flags/train_command_flags.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>

#include "cli/config_flags.h"
#include "cli/files.h"
#include "cli/memory_limit_flag.h"
#include "cli/show/numbers.h"
#include "cli/train/flags/keep_last.h"
#include "cli/train/flags/rank_flags.h"
#include "cli/train/flags/verify_flags.h"
#include "comm/mpi/mpi_communicator.h"
#include "runtime/base/check.h"
#include "runtime/base/size_limits.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/files.h"
#include "train/checkpoint/saved_form.h"
#include "train/pipeline/pipeline_kind.h"

namespace tessera::cli {
namespace {

constexpr char kFooter[] =
    "\n"
    "Examples:\n"
    "  tessera train --config examples/planted.json\n"
    "  tessera train --config examples/criteo.json --data clicks.tsv --train-rows 0:56000 \\\n"
    "    --eval-rows 56000:64000\n"
    "  tessera train --resume model.safetensors --data clicks.tsv --epochs 2 \\\n"
    "    --checkpoint model.safetensors\n"
    "  tessera train --config examples/planted.json --run runs/first\n"
    "  tessera train --config examples/planted.json --ranks 4 --plan row_wise --checkpoint "
    "folder\n"
    "  mpirun -n 4 tessera train --config examples/planted.json --plan plan.json\n"
    "  mpirun -n 8 tessera train --config examples/planted.json --device cuda\n"
    "\n"
    "Rows are numbered from 0 over all files in the order given, bad lines included. A range past "
    "their end is refused at the start; of packed text, and of more than 4 GiB, where it is read. "
    "A flag takes precedence over the configuration.\n"
    "--json: \"seconds\" covers reading, training and evaluations, not building the model or "
    "writing checkpoints; \"samples_per_second\" is the trained rows divided by the seconds of "
    "reading and training. Undefined values are null.\n"
    "Ranks (--ranks, or mpirun): the tables are split over the ranks, each of which takes its "
    "share of every batch; losses and metrics are those of all ranks. Each rank needs all "
    "of --data, but parses only its share of the lines of text, except with --skip-bad-lines or "
    "data.split. Configuration, data and flags must be the same on all ranks, which is checked "
    "before the first step. --checkpoint then names a folder.\n"
    "--sharding-group-size: ranks r, r + W/G, r + 2 W/G, … of W are a group. What is evaluated and "
    "saved is the groups' mean, so with a --sync-interval above 1 evaluations and saves inside "
    "epochs change later bits. Not beside raw ids, tables on disk, stochastic_rounding, optimizers "
    "of tables that count steps, dense ones, those of --plugin that have states, --incremental, "
    "--verify, and --pipeline prefetch or semi_sync.\n"
    "--verify with ranks: threads and processes share a record, also under another plan whose "
    "training has the same bits; it is for one number of ranks and one choice of --wire-codecs, "
    "and a difference names the rank. Not beside raw ids, tables in a cache or on disk, a GPU, "
    "sharding groups, and, with ranks, the table optimizer dense.\n"
    "--resume takes a checkpoint in any form: a file, an incremental folder, or a folder of "
    "ranks, under any plan and number of ranks. --checkpoint saves in the form that this run "
    "asks for. --resume refuses another model, and other data inside an epoch; it says what else "
    "has changed since the checkpoint.\n"
    "--metrics and --tensorboard write the metrics that the configuration names under "
    "\"metrics\" (default: ne, calibration, auc, throughput), every compute_interval_steps steps "
    "and after each evaluation. A checkpoint keeps their state.\n"
    "Evaluations inside epochs change no bit of what is trained. A checkpoint keeps the best value "
    "and the evaluations since, so a resumed training stops where one that never stopped would; "
    "with other rows for evaluation, or another metric, it says so and counts both anew. "
    "An undefined value (NaN) is never better. A fraction of an epoch of N rows in steps of B is "
    "N*FRACTION/B steps, rounded down, at least one; for text, --train-rows has to say where the "
    "rows end. --best holds a whole checkpoint, also beside --incremental.\n"
    "--run: the same command goes on with a run that was cut off, as --resume does, from its last "
    "checkpoint, or from its best where that is all it has; without --config it takes the run's. A "
    "finished run goes on where more --epochs are asked for, one "
    "that stopped early where its --patience or --stop-at no longer stops it; else it is refused. "
    "tessera runs compares runs. The folder has run.json, config.json, log.txt, metrics.jsonl, "
    "curve.jsonl, result.json and the checkpoints last and best.\n"
    "--mllog: submission_org is a placeholder; without a target, a run that ends is a success. "
    "Headings and first rows of the data are checked before run_start.\n"
    "Without --plan, tables larger than a rank's equal share are split by rows over all ranks; "
    "each of the others goes to the rank that has the least so far, the largest table first. A "
    "plan file is one of this library (JSON) or of TorchRec.\n"
    "--pipeline: base copies the next batch ahead; sparse_dist also sends its ids to the other "
    "ranks; prefetch also brings rows of cached tables to the GPU; these three change no bit. "
    "semi_sync looks the next batch up before this one's update, so it trains on rows that lack "
    "one update; a save inside an epoch (--checkpoint-every, a signal) looks that batch up anew, "
    "so a training has the bits of one that saves at the same steps. Raw ids (managed_collision) "
    "find their rows inside the step: they travel ahead with sparse_dist and prefetch, and "
    "semi_sync refuses them.\n"
    "--incremental: the folder gets a whole checkpoint, then deltas. --resume continues from it, "
    "tessera inspect shows it, and tessera compact makes one whole checkpoint of it. With ranks, "
    "each rank writes files of its own shards; under another plan or number of ranks the next "
    "save is a whole checkpoint. Whenever the training is killed, the last save is complete.\n"
    "--checkpoint and --metrics never replace what another run saved: they name new files or "
    "folders, or those that --resume continues from, unless --overwrite is given.\n"
    "SIGTERM, Ctrl-C, SIGHUP (a closed terminal; not under nohup), SIGUSR1 and SIGPIPE (nobody "
    "reads its output any more) finish the step, save the checkpoint if --checkpoint was given, "
    "and exit with 143, 130, 129, 138 and 141; a resumed training gives the same bits (but see "
    "--pipeline semi_sync). Signals within a second of the first are one; a later one, or "
    "--stop-within, ends it at once. One rank that gets the signal stops all. To stop them "
    "through mpirun, send it SIGUSR1: it passes the signal on, and exits with 138 when all ranks "
    "have saved. After SIGTERM or Ctrl-C, mpirun kills its ranks soon, even while they save: that "
    "of Open MPI 5 after a quarter of a second.\n";
constexpr char kJsonHelp[] = "Write the last evaluation, time and speed to this file as JSON";

void AddCheckpointFlags(Command app, TrainFlags& f) {
  const auto from_zero = NumbersFrom(int64_t{0}, int64_t{1} << 40);
  app.Add("--checkpoint", f.checkpoint,
          "Save the model and the state of the training in this file after each epoch; with "
          "--ranks, mpirun or --incremental it is a folder")
      .Value("PATH");
  app.Add("--run", f.run,
          "Keep all of the run in this folder: configuration, command, build, data, log, metrics, "
          "learning curve, last and best checkpoint, result. A folder with an unfinished run goes "
          "on with it. Stands for --checkpoint, --best, --metrics and --json")
      .Value("DIR");
  AddOverwriteFlag(app, f.overwrite);
  app.Add("--checkpoint-every", f.checkpoint_every,
          "Also save the checkpoint every STEPS steps; beside --pipeline semi_sync this changes "
          "what is trained")
      .Within(NumbersFrom(int64_t{1}, int64_t{1} << 40))
      .Value("STEPS");
  app.Add("--keep-last", f.keep_last,
          "Keep the last N checkpoints: besides --checkpoint the N-1 before it, named by their "
          "steps (model.step-00001000.safetensors)")
      .Within(NumbersFrom(int64_t{1}, int64_t{1} << 20))
      .Value("N");
  app.Add("--incremental", f.incremental,
          "Save into the folder of --checkpoint: first a whole checkpoint, then deltas, files of "
          "only the rows that changed since the last save");
  app.Add("--max-deltas", f.max_deltas,
          "With --incremental: write a whole checkpoint again after N deltas (default 16)")
      .Within(from_zero)
      .Value("N");
  app.Add("--max-delta-share", f.max_delta_share,
          "With --incremental: write a whole checkpoint once deltas would exceed this fraction of "
          "its size (default 1)")
      .Within(NumbersFrom(1e-6, 1e6))
      .Value("SHARE");
  app.Add("--keep-chains", f.keep_chains,
          "With --incremental: keep the last N earlier whole checkpoints with their deltas (default"
          " 0)")
      .Within(from_zero)
      .Value("N");
}

SavedForm FormOfBest(bool with_ranks) { return with_ranks ? SavedForm::kRanks : SavedForm::kFile; }

SavedForm FormSaved(const TrainFlags& flags, bool with_ranks) {
  if (!flags.incremental) return FormOfBest(with_ranks);
  return with_ranks ? SavedForm::kRankChains : SavedForm::kIncremental;
}

// Throws if the flag's path is something of another form than this run saves there.
void CheckSavedTo(const char* flag, const std::string& path, SavedForm saves) {
  if (path.empty()) return;
  std::error_code error;
  // Asked once, as another training may make it now.
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::none)
    throw Error(Format("{}: cannot be read: {}", path, error.message()));
  if (!std::filesystem::is_directory(status)) {
    if (saves != SavedForm::kFile && std::filesystem::exists(status))
      throw Error(Format("{}: it is a file; this saves checkpoints in a folder", path));
    return;
  }
  const std::optional<SavedForm> there = FormIn(path);
  if (there == saves || (!there && saves != SavedForm::kFile)) return;
  throw Error(Format("{} {}: it is {}, but this run saves {}: name another path", flag, path,
                     there ? Described(*there) : "a directory", Described(saves)));
}

// The files and folders that are read. --plan and --topology may be words, even if a folder has
// that name.
std::vector<std::string> ReadBy(const TrainFlags& flags) {
  std::vector<std::string> reads = flags.data;
  reads.insert(reads.end(), flags.eval.begin(), flags.eval.end());
  reads.insert(reads.end(), {flags.config, flags.resume});
  for (const std::string& path : {flags.plan, flags.topology})
    if (std::error_code none; std::filesystem::is_regular_file(path, none)) reads.push_back(path);
  return reads;
}

void CheckIncremental(const TrainFlags& flags) {
  if (!flags.incremental) {
    if (flags.max_deltas || flags.max_delta_share || flags.keep_chains)
      throw Error("--max-deltas, --max-delta-share and --keep-chains need --incremental");
    return;
  }
  if (flags.checkpoint.empty()) throw Error("--incremental needs --checkpoint to say where");
}

// The advice where a training that begins would replace a checkpoint; "" for what is none, and
// where the training goes on from another one.
std::string GoOnAdvice(const TrainFlags& flags, const std::string& path) {
  if (flags.overwrite || !flags.resume.empty() || !flags.run.empty() || !IsOfTraining(path))
    return "";
  return Format("--resume {} goes on with the training that saved it", path);
}

// Read again, as tables with fewer rows may not fit their features.
TrainConfig WithFewerRows(TrainConfig config, int64_t most) {
  for (EmbeddingBagConfig& table : config.tables)
    table.num_embeddings = std::min(table.num_embeddings, most);
  return ParseTrainConfig(ToJson(config), Format("--max-table-rows {}", most));
}

void AddRowFlags(Command app, TrainFlags& f) {
  app.Add("--data", f.data,
          "Train on these rows: files of the configuration's \"format\", plain, .gz or .zst; a "
          "pattern stands for the files that match it, - for standard input. Folders of tessera "
          "preprocess take the place of their text; \"criteo\" also takes npy days, \"npz\" days")
      .Value("PATH");
  app.Add("--train-rows", f.train_rows, "Train only on these rows of the data").Value("FIRST:LAST");
  app.Add("--eval", f.eval,
          "Evaluate on the rows of these files after each epoch; none of them is trained on")
      .Value("PATH");
  app.Add("--eval-rows", f.eval_rows,
          "Evaluate only on these rows: of --eval if it is given, else of --data. With data.split "
          "these, and --train-rows, choose by numbers of rows in the files among those that it "
          "keeps for each")
      .Value("FIRST:LAST");
}

void AddStepFlags(Command app, TrainFlags& f) {
  app.Add("--epochs", f.epochs,
          "Number of passes over the data, including those that a resumed checkpoint has done")
      .Within(NumbersFrom(int64_t{1}, SizeLimits::kSteps))
      .Value("N");
  app.Add(
         "--batch-size", f.batch_size,
         "Rows of a step, for all ranks together (with --accumulate-steps, of each part of a step)")
      .Within(NumbersFrom(int64_t{1}, SizeLimits::kBatch))
      .Value("N");
  app.Add("--accumulate-steps", f.accumulate_steps,
          "Number of batches of --batch-size rows that make one step: the result is that of one "
          "batch of all their rows, in the memory of a small one")
      .Within(NumbersFrom(int64_t{1}, SizeLimits::kBatch))
      .Value("N");
  app.Add("--threads", f.threads,
          "Number of threads, shared by all ranks of this process; default: all cores")
      .Within(NumbersFrom(1, 4096))
      .Value("N");
  app.Add("--seed", f.seed, "Seed of the random numbers that the model starts with")
      .Within(NumbersFrom(int64_t{0}, std::numeric_limits<int64_t>::max()))
      .Value("N");
  app.Add("--max-table-rows", f.max_table_rows,
          "Give no table more than N rows, of which ids are taken modulo: to try a large model out "
          "on "
          "a small machine")
      .Within(NumbersFrom(int64_t{1}, SizeLimits::kRows))
      .Value("N");
}

void AddReportFlags(Command app, TrainFlags& f) {
  app.Add("--json", f.json, kJsonHelp).Value("FILE");
  app.Add("--metrics", f.metrics,
          "Write metrics of training and evaluations to this file, as lines of JSON")
      .Value("FILE");
  app.Add("--tensorboard", f.tensorboard,
          "Write the same metrics as TensorBoard event files into this folder")
      .Value("DIR");
}

}  // namespace

TrainConfig WithFlags(TrainConfig config, const TrainFlags& flags) {
  config.epochs = flags.epochs.value_or(config.epochs);
  config.batch_size = flags.batch_size.value_or(config.batch_size);
  config.accumulate_steps = flags.accumulate_steps.value_or(config.accumulate_steps);
  CheckAccumulation(config);
  if (flags.seed) config.seed = static_cast<uint64_t>(*flags.seed);
  ApplyEvaluationFlags(flags.evaluation, config);
  return flags.max_table_rows ? WithFewerRows(std::move(config), *flags.max_table_rows) : config;
}

void AddTrainFlags(Command app, TrainFlags& f) {
  app.Add("--config", f.config,
          "Configuration (JSON): tables, model, optimizers and data; examples/criteo.json is one")
      .Value("FILE");
  AddSetFlag(app, f.set);
  AddPluginFlag(app);
  app.Add("--dry-run", f.dry_run,
          "Check all that a start checks (configuration, files and columns, checkpoint, memory, "
          "disk, plan, what would be written) and print what would run; train and write nothing");
  AddRowFlags(app, f);
  AddStepFlags(app, f);
  AddEvaluationFlags(app, f.evaluation);
  AddCheckpointFlags(app, f);
  app.Add("--stop-within", f.stop_within,
          "After SIGTERM, Ctrl-C, SIGHUP or SIGUSR1, end without saving if the step and its "
          "checkpoint take longer than this (default 300; 0: no limit)")
      .Within(NumbersFrom(0, 1 << 30))
      .Value("SECONDS");
  app.Add("--resume", f.resume,
          "Continue from this checkpoint, in any form; --config may then be left out")
      .Value("PATH");
  app.Add("--other-data", f.other_data,
          "With --resume inside an epoch: continue at the row where the checkpoint stopped, "
          "although the data differ from those it was trained on. With --resume: take another "
          "data.split, although rows that it keeps for evaluation were trained on");
  AddSkipBadLinesFlag(app, f.skip_bad_lines);
  app.Add("--device", f.device,
          "Device to train on: cpu, cuda, or cuda:N for GPU number N. With several ranks, cuda is "
          "a GPU of its own for each rank of a machine, cuda:N one GPU for all")
      .Value("DEVICE");
  AddReportFlags(app, f);
  app.Add("--pipeline", f.pipeline,
          "Overlap of the next batches with a step: none (default), base, sparse_dist, prefetch or "
          "semi_sync")
      .Value("KIND");
  app.Add("--trace", f.trace, "Write a trace of all threads to this file, for ui.perfetto.dev")
      .Value("FILE");
  AddVerifyFlags(app, f);
  AddRankFlags(app, f);
  AddMemoryLimitFlag(app, f.memory_limit);
  app.Footer(kFooter);
}

void CheckTrainFlags(const TrainFlags& flags, bool with_ranks) {
  if (flags.checkpoint_every > 0 && flags.checkpoint.empty())
    throw Error("--checkpoint-every needs --checkpoint to say where");
  CheckFlagsOfRanks(flags, with_ranks);
  CheckIncremental(flags);
  CheckKeepLast(flags);
  CheckSavedTo("--checkpoint", flags.checkpoint, FormSaved(flags, with_ranks));
  CheckSavedTo("--best", flags.evaluation.best, FormOfBest(with_ranks));
  if (!flags.evaluation.mllog.empty() && !flags.resume.empty())
    throw Error(
        "--mllog beside --resume: MLPerf's log is that of a run from its beginning: leave one of "
        "them out");
  if (flags.other_data && flags.resume.empty() && flags.run.empty())
    throw Error(
        "--other-data is for a training that goes on (--resume, --run): one that begins has no "
        "other data than its own: leave it out, or give --resume");
  if (flags.verify_every && flags.verify.empty())
    throw Error("--verify-every needs --verify to say where");
  if (IsStream(flags.verify))
    throw Error(
        Format("--verify {}: it is a stream; expected a file, which is read, too", flags.verify));
  ParsePipelineKind(flags.pipeline);
}

Outputs ClaimOutputs(const TrainFlags& flags, bool with_ranks) {
  Outputs outputs(flags.overwrite, ReadBy(flags), /*looks_only=*/flags.dry_run);
  if (UnderMpirun() && MpiRank() != 0) return outputs;
  if (with_ranks || flags.incremental)
    outputs.AddFolder(flags.checkpoint, flags.resume, GoOnAdvice(flags, flags.checkpoint));
  else
    outputs.AddFile(flags.checkpoint, flags.resume, GoOnAdvice(flags, flags.checkpoint));
  outputs.AddLines(flags.metrics, kMetricLines, /*goes_on=*/!flags.resume.empty());
  outputs.AddLines(flags.verify, kRunRecord, /*goes_on=*/true);
  outputs.AddReport(flags.json, kEvaluation);
  outputs.AddReport(flags.save_plan, kPlan);
  outputs.AddReport(flags.trace, kTraceEvents);
  outputs.AddReport(flags.evaluation.mllog, kMlLog);
  if (!flags.tensorboard.empty()) CheckMayBeWritten(PathIn(flags.tensorboard, "events"));
  return outputs;
}

void ClaimBest(const TrainFlags& flags, bool with_ranks, const std::optional<ResumedRun>& resumed,
               Outputs& outputs) {
  if (UnderMpirun() && MpiRank() != 0) return;
  const std::string& best = flags.evaluation.best;
  const std::string& begun_from = resumed && IsBestOf(best, *resumed) ? best : flags.resume;
  if (with_ranks)
    outputs.AddFolder(best, begun_from, GoOnAdvice(flags, best));
  else
    outputs.AddFile(best, begun_from, GoOnAdvice(flags, best));
}

std::optional<IncrementalOptions> IncrementalOf(const TrainFlags& flags) {
  if (!flags.incremental) return {};
  IncrementalOptions options;
  options.max_deltas = flags.max_deltas.value_or(options.max_deltas);
  options.max_delta_share = flags.max_delta_share.value_or(options.max_delta_share);
  options.keep = flags.keep_chains.value_or(options.keep);
  return options;
}

DataSelection ParseSelection(const TrainFlags& flags) {
  DataSelection selection{.files = flags.data,
                          .eval_files = flags.eval,
                          .skip_bad_lines = flags.skip_bad_lines,
                          .threads = flags.threads,
                          .unknown_items = std::make_shared<UnknownItems>(),
                          .unknown_eval_items = std::make_shared<UnknownItems>()};
  if (!flags.train_rows.empty())
    selection.train_rows = ParseRowRange(flags.train_rows, "--train-rows");
  if (!flags.eval_rows.empty()) selection.eval_rows = ParseRowRange(flags.eval_rows, "--eval-rows");
  return selection;
}

}  // namespace tessera::cli
