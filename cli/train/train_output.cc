#include "cli/train/train_output.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <utility>

#include "cli/show/numbers.h"
#include "cli/show/unknown_items_text.h"
#include "cli/train/progress.h"
#include "cli/train/train_report.h"
#include "runtime/files/files.h"

namespace tessera::cli {
namespace {

// The run's events go to its log, too.
void LogTo(MlLog& log, TrainingRunOptions& options) {
  options.on_epoch_begin = [&log, then = options.on_epoch_begin](int64_t epoch) {
    log.EpochStart(epoch);
    then(epoch);
  };
  options.on_epoch = [&log, then = options.on_epoch](const EpochReport& epoch) {
    log.EpochStop(epoch.epoch);
    then(epoch);
  };
  options.on_evaluation_begin = [&log](const EvaluationPoint& at) { log.EvalStart(at); };
  options.on_evaluation = [&log, then = options.on_evaluation](const EvaluationReport& report) {
    log.EvalStop(report);
    then(report);
  };
}

// Whether the run came to what MLPerf calls a success.
bool Succeeded(const TrainConfig& config, const TrainingRunReport& report) {
  if (report.stopped) return false;
  return !config.evaluation->target || report.evaluations->stop == EarlyStop::kTarget;
}

// The training loop in MLPerf's log.
TrainingRunReport RunLogged(MlLog& log, TrainingRunOptions options, Trainer& trainer,
                            const DataSets& data) {
  LogTo(log, options);
  const std::optional<RowRange> rows = data.EpochRows();
  log.RunStart(rows ? std::optional(rows->last - rows->first) : std::nullopt);
  try {
    TrainingRunReport report = RunTraining(trainer, data, options);
    log.RunStop(Succeeded(trainer.config(), report));
    return report;
  } catch (...) {
    log.RunStop(false);
    throw;
  }
}

void SayEvaluations(const TrainFlags& flags, const TrainConfig& config,
                    const EvaluationsReport& evaluations) {
  const std::string stop = EarlyStopLine(evaluations, *config.evaluation);
  if (!stop.empty()) std::printf("%s\n", stop.c_str());
  const std::string& best = flags.evaluation.best;
  if (best.empty()) return;
  const bool saved =
      std::ranges::any_of(evaluations.all, [](const EvaluationReport& r) { return r.best; });
  if (saved)
    std::printf("saved %s, the best model\n", best.c_str());
  else
    std::printf("%s was not written: no evaluation of this run was better\n", best.c_str());
}

}  // namespace

std::string TablesText(const std::vector<EmbeddingBagConfig>& tables) {
  int64_t rows = 0, bytes = 0;
  for (const EmbeddingBagConfig& table : tables) {
    rows += table.num_embeddings;
    bytes += table.num_embeddings * table.embedding_dim * SizeOf(table.data_type);
  }
  return Format("{} tables of {} rows in all ({})", tables.size(),
                WithCommas(static_cast<double>(rows)), Bytes(bytes));
}

TrainingRunReport RunWithOutput(TrainingRunOptions options, Trainer& trainer, const DataSets& data,
                                LossCurve& curve, const RunLogs& logs) {
  Progress progress;
  bool in_epoch = false;
  options.on_epoch_begin = [&](int64_t) { in_epoch = true; };
  options.on_evaluation = [&](const EvaluationReport& report) {
    progress.LeaveOut(report.seconds);
    if (in_epoch && report.ends_epoch) return;  // the line of the epoch says it
    progress.Clear();
    std::printf("%s\n", EvaluationLine(report).c_str());
    std::fflush(stdout);
  };
  options.on_step = [&](const StepReport& step) {
    curve.Add(step.examples, step.loss);
    progress.OnStep(step);
  };
  options.on_epoch = [&](const EpochReport& epoch) {
    progress.Clear();
    std::printf("%s\n", EpochLine(epoch).c_str());
    std::fflush(stdout);
  };
  if (logs.run != nullptr) logs.run->Record(options);
  try {
    TrainingRunReport report = logs.mllog == nullptr
                                   ? RunTraining(trainer, data, options)
                                   : RunLogged(*logs.mllog, options, trainer, data);
    progress.Clear();
    return report;
  } catch (...) {
    progress.Clear();
    throw;
  }
}

void SayInterrupted(const TrainFlags& flags, int signal) {
  const char* const by = signal == SIGTERM ? " by SIGTERM" : "";
  if (!flags.run.empty())
    std::fprintf(stderr, "interrupted%s: saved %s; the same command%s goes on\n", by,
                 flags.run.c_str(), flags.overwrite ? " without --overwrite" : "");
  else if (flags.checkpoint.empty())
    std::fprintf(stderr, "interrupted%s: nothing was saved, as no --checkpoint was given\n", by);
  else
    std::fprintf(stderr, "interrupted%s: saved %s; the same command with --resume %s%s goes on\n",
                 by, flags.checkpoint.c_str(), flags.checkpoint.c_str(),
                 flags.overwrite ? " in place of --overwrite" : "");
}

void SayResults(const TrainFlags& flags, const TrainConfig& config, const DataSets& data,
                const TrainingRunReport& report, const LossCurve& curve) {
  const std::optional<MetricValues> optimum = data.Optimum();
  const std::string picture = curve.Draw(optimum ? std::optional(optimum->log_loss) : std::nullopt);
  if (!picture.empty()) std::printf("\nloss while training\n%s\n", picture.c_str());
  std::fputs(FinalTable(report, optimum).c_str(), stdout);
  const UnknownItems* const trained = data.unknown_items().get();
  const UnknownItems* const evaluated = data.unknown_eval_items().get();
  std::fputs(UnknownItemsText(trained, "the rows trained on").c_str(), stdout);
  std::fputs(UnknownItemsText(evaluated, "the rows for evaluation").c_str(), stdout);
  if (report.evaluations) SayEvaluations(flags, config, *report.evaluations);
  if (!flags.checkpoint.empty()) std::printf("saved %s\n", flags.checkpoint.c_str());
  if (!flags.json.empty())
    ReplaceTextFile(flags.json, ReportJson(report, optimum, trained, evaluated));
}

}  // namespace tessera::cli
