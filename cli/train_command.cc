// tessera train: trains a DLRM on Criteo rows or planted data.
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/files.h"
#include "cli/interrupt.h"
#include "cli/loss_curve.h"
#include "cli/numbers.h"
#include "cli/progress.h"
#include "cli/train_report.h"
#include "runtime/check.h"
#include "runtime/device_properties.h"
#include "train/training_run.h"

namespace tessera::cli {
namespace {

constexpr char kDescription[] = "Train a DLRM whose embedding tables are updated inside backward.";
constexpr char kFooter[] =
    "\nExamples:\n"
    "  tessera train --config examples/planted.json\n"
    "  tessera train --config examples/criteo.json --data clicks.tsv --train-rows 0:56000 "
    "--eval-rows 56000:64000\n"
    "  tessera train --resume model.safetensors --data clicks.tsv --epochs 2 --checkpoint "
    "model.safetensors\n"
    "\n"
    "Rows are numbered from 0 over all files in the order given, bad lines included. A flag wins "
    "over the configuration.\n"
    "In the JSON, \"seconds\" counts reading, training and evaluations, not building the model nor "
    "writing checkpoints;\n"
    "\"samples_per_second\" is the rows trained by the seconds of reading and training. What is "
    "not defined is null.\n"
    "Ctrl-C finishes the step, saves the checkpoint if --checkpoint was given, and exits with "
    "130.\n";
constexpr char kJsonHelp[] = "Write the last evaluation, time and speed to this file as JSON";

struct Flags {
  std::string config, train_rows, eval_rows, checkpoint, resume, json, device = "cpu";
  std::vector<std::string> data, eval;
  std::optional<int64_t> epochs, batch_size, seed;
  int threads = 0;
  int64_t checkpoint_every = 0;
  bool skip_bad_lines = false;
};

void AddFlags(CLI::App& app, Flags& f) {
  const auto positive = NumbersFrom(int64_t{1}, int64_t{1} << 40);
  app.add_option("--config", f.config,
                 "Tables, model, optimizers and data: a JSON file such as examples/criteo.json")
      ->type_name("FILE");
  app.add_option("--data", f.data, "Criteo rows: one or more files, plain or .gz")
      ->type_name("FILE");
  app.add_option("--train-rows", f.train_rows, "Train on these rows of the data alone")
      ->type_name("FIRST:LAST");
  app.add_option("--eval", f.eval, "Evaluate on the rows of these files after each epoch")
      ->type_name("FILE");
  app.add_option("--eval-rows", f.eval_rows,
                 "Evaluate on these rows: of --eval if given, else of --data")
      ->type_name("FIRST:LAST");
  app.add_option("--epochs", f.epochs, "Passes over the data, in all")
      ->check(positive)
      ->type_name("N");
  app.add_option("--batch-size", f.batch_size, "Rows a step")->check(positive)->type_name("N");
  app.add_option("--threads", f.threads, "Default: all cores")
      ->check(NumbersFrom(1, 4096))
      ->type_name("N");
  app.add_option("--seed", f.seed, "Of the random numbers that fill the model")
      ->check(NumbersFrom(int64_t{0}, std::numeric_limits<int64_t>::max()))
      ->type_name("N");
  app.add_option("--checkpoint", f.checkpoint,
                 "Save the model and all that is needed to go on, after each epoch")
      ->type_name("FILE");
  app.add_option("--checkpoint-every", f.checkpoint_every, "And after each so many steps")
      ->check(positive)
      ->type_name("STEPS");
  app.add_option("--resume", f.resume, "Go on from this checkpoint; --config may then be left out")
      ->type_name("FILE");
  app.add_flag("--skip-bad-lines", f.skip_bad_lines,
               "Leave bad lines out and count them; else they are errors");
  app.add_option("--device", f.device, "Where to train: cpu, cuda or cuda:N for GPU number N")
      ->type_name("DEVICE");
  app.add_option("--json", f.json, kJsonHelp)->type_name("FILE");
  app.footer(kFooter);
}

TrainConfig ReadConfig(const Flags& flags, const std::optional<Checkpoint>& resumed) {
  if (flags.config.empty() && !resumed)
    throw Error(
        "no configuration: give --config FILE, for example examples/planted.json, which needs no "
        "data");
  if (flags.config.empty() && resumed->config.empty())
    throw Error(Format("{}: it holds no configuration; give --config FILE too", flags.resume));
  TrainConfig config = flags.config.empty() ? ParseTrainConfig(resumed->config, flags.resume)
                                            : ReadTrainConfig(flags.config);
  config.epochs = flags.epochs.value_or(config.epochs);
  config.batch_size = flags.batch_size.value_or(config.batch_size);
  if (flags.seed) config.seed = static_cast<uint64_t>(*flags.seed);
  return config;
}

DataSelection SelectionOf(const Flags& flags) {
  DataSelection selection{
      .files = flags.data, .eval_files = flags.eval, .skip_bad_lines = flags.skip_bad_lines};
  if (!flags.train_rows.empty()) selection.train_rows = ParseRowRange(flags.train_rows);
  if (!flags.eval_rows.empty()) selection.eval_rows = ParseRowRange(flags.eval_rows);
  return selection;
}

void CheckFlags(const Flags& flags) {
  if (flags.checkpoint_every > 0 && flags.checkpoint.empty())
    throw Error("--checkpoint-every needs --checkpoint FILE to say where");
  CheckWritable(flags.checkpoint);
  CheckWritable(flags.json);
}

std::string Machine(Context& ctx) {
  const std::string threads = Format("{} threads", ctx.threads().threads());
  if (ctx.device() == Device::Cpu()) return threads;
  return Format("{} ({}), {}", ctx.device(), PropertiesOf(ctx.device()).name, threads);
}

std::string ModelLine(const Trainer& trainer, Context& ctx) {
  int64_t rows = 0, dense = 0, bytes = 0;
  for (const EmbeddingBagConfig& table : trainer.config().tables) {
    rows += table.num_embeddings;
    bytes += table.num_embeddings * table.embedding_dim * SizeOf(table.data_type);
  }
  for (const NamedParameter& p : trainer.model().Parameters()) dense += p.variable.value().numel();
  return Format("{} tables of {} rows in all ({}), {} dense parameters, {}",
                trainer.config().tables.size(), WithCommas(static_cast<double>(rows)), Bytes(bytes),
                WithCommas(static_cast<double>(dense)), Machine(ctx));
}

void Resume(Trainer& trainer, const Checkpoint& checkpoint) {
  if (!trainer.Load(checkpoint)) {
    std::fprintf(stderr, "%s holds weights alone: optimizers start afresh\n",
                 checkpoint.path.c_str());
    return;
  }
  const TrainingProgress progress = trainer.progress();
  std::printf("resumed %s: %lld epochs done, next row %lld, step %lld\n", checkpoint.path.c_str(),
              static_cast<long long>(progress.epoch), static_cast<long long>(progress.row),
              static_cast<long long>(progress.step));
}

int SayInterrupted(const Flags& flags) {
  if (flags.checkpoint.empty())
    std::fputs("interrupted: nothing was saved, as no --checkpoint was given\n", stderr);
  else
    std::fprintf(stderr, "interrupted: saved %s; go on with --resume %s\n",
                 flags.checkpoint.c_str(), flags.checkpoint.c_str());
  return kInterruptedExit;
}

void SayResults(const Flags& flags, const DataSets& data, const TrainingRunReport& report,
                const LossCurve& curve) {
  const std::optional<MetricValues> optimum = data.Optimum();
  const std::string picture = curve.Draw(optimum ? std::optional(optimum->log_loss) : std::nullopt);
  if (!picture.empty()) std::printf("\nloss while training\n%s\n", picture.c_str());
  std::fputs(FinalTable(report, optimum).c_str(), stdout);
  if (!flags.checkpoint.empty()) std::printf("saved %s\n", flags.checkpoint.c_str());
  if (!flags.json.empty()) WriteTextFile(flags.json, ReportJson(report, optimum));
}

// The loop with everything a user sees of it.
TrainingRunReport Run(const Flags& flags, Trainer& trainer, const DataSets& data,
                      LossCurve& curve) {
  Progress progress;
  TrainingRunOptions options;
  options.checkpoint = flags.checkpoint;
  options.checkpoint_every = flags.checkpoint_every;
  options.stop = Interrupted;
  options.on_step = [&](const StepReport& step) {
    curve.Add(step.examples, step.loss);
    progress.OnStep(step);
  };
  options.on_epoch = [&](const EpochReport& epoch) {
    progress.Clear();
    std::printf("%s\n", EpochLine(epoch).c_str());
    std::fflush(stdout);
  };
  try {
    TrainingRunReport report = RunTraining(trainer, data, options);
    progress.Clear();
    return report;
  } catch (...) {
    progress.Clear();
    throw;
  }
}

int Train(const Flags& flags) {
  CheckFlags(flags);
  const DataSelection selection = SelectionOf(flags);
  std::optional<Checkpoint> resumed;
  if (!flags.resume.empty()) resumed = ReadCheckpoint(flags.resume);
  const TrainConfig config = ReadConfig(flags, resumed);
  Context ctx({.device = ParseDevice(flags.device),
               .threads = flags.threads,
               .seed = config.seed,
               .pool = nullptr});
  const DataSets data(config, selection);
  WatchForInterrupt();
  Trainer trainer(ctx, config);
  std::printf("%s\n", ModelLine(trainer, ctx).c_str());
  if (resumed) Resume(trainer, *resumed);
  resumed.reset();
  LossCurve curve;
  const TrainingRunReport report = Run(flags, trainer, data, curve);
  if (report.stopped) return SayInterrupted(flags);
  SayResults(flags, data, report, curve);
  return 0;
}

}  // namespace

void AddTrainCommand(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("train", kDescription);
  const auto flags = std::make_shared<Flags>();
  AddFlags(*command, *flags);
  command->callback([flags, &action] { action = [flags] { return Train(*flags); }; });
}

}  // namespace tessera::cli
