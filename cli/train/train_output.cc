#include "cli/train/train_output.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <utility>
#include <variant>

#include "cli/interrupt.h"
#include "cli/show/log.h"
#include "cli/show/numbers.h"
#include "cli/show/row_file_warnings.h"
#include "cli/show/split_text.h"
#include "cli/show/unknown_items_text.h"
#include "cli/train/idle_settings.h"
#include "cli/train/progress.h"
#include "cli/train/train_report.h"
#include "optim/any_rule.h"
#include "runtime/base/isa.h"
#include "runtime/files/files.h"
#include "train/pipeline/pipeline_kind.h"
#include "train/run/evaluation_schedule.h"

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

// Whether the metric was defined in any evaluation, or there was none.
bool HasValue(const EvaluationsReport& evaluations) {
  const auto is_defined = [](const EvaluationReport& r) { return !std::isnan(r.value); };
  return evaluations.all.empty() || std::ranges::any_of(evaluations.all, is_defined);
}

// Whether the examples that the metric is of, by its name, weigh nothing.
bool WeighNothing(const EvaluationReport& report) {
  const auto weighs = [](const NamedTaskValues& task) { return task.values.weight != 0; };
  const auto& tasks = report.values.tasks;
  const auto named = std::ranges::find_if(tasks, [&](const NamedTaskValues& task) {
    return report.metric.ends_with("-" + task.task);  // "auc-TASK"
  });
  if (named != tasks.end()) return !weighs(*named);
  return report.metric == "loss" ? std::ranges::none_of(tasks, weighs)
                                 : !tasks.empty() && !weighs(tasks.front());
}

// Why no evaluation was the best so far.
std::string WhyNoneWasBest(const EvaluationsReport& evaluations) {
  const std::string& metric = evaluations.metric;
  if (HasValue(evaluations)) return "no evaluation since this start was better";
  const std::string why = Format("{} was not defined in any evaluation", metric);
  if (std::ranges::all_of(evaluations.all, WeighNothing))
    return why + ", as no evaluation row counts: each has the weight 0 (data.weight) or no label";
  if (metric != "auc" && !metric.starts_with("auc-")) return why;  // "auc-TASK"
  return Format(
      "{}, as the evaluation rows have one label only; --eval-metric log_loss{} compares "
      "evaluations without it",
      why, metric.substr(3));
}

void SayEvaluations(const TrainFlags& flags, const TrainConfig& config,
                    const EvaluationsReport& evaluations) {
  const std::string stop = EarlyStopLine(evaluations, *config.evaluation);
  if (!stop.empty()) Note(stop);
  const std::string& best = flags.evaluation.best;
  if (best.empty()) return;
  const bool saved =
      std::ranges::any_of(evaluations.all, [](const EvaluationReport& r) { return r.best; });
  const auto say = HasValue(evaluations) ? Note : Warn;
  say(saved ? Format("saved {}, the best model", best)
            : Format("{} was not written: {}", best, WhyNoneWasBest(evaluations)),
      {{"path", best}});
}

LogFields FieldsOf(const EvaluationReport& report) {
  LogFields fields = {{"epoch", report.at.epoch}, {"step", report.at.step}};
  if (report.at.fraction) fields.emplace_back("fraction", *report.at.fraction);
  fields.emplace_back("metric", report.metric);
  fields.emplace_back("value", report.value);
  fields.emplace_back("seconds", report.seconds);
  return fields;
}

LogFields FieldsOf(const EpochReport& epoch) {
  LogFields fields = {{"epoch", epoch.epoch},
                      {"rows", epoch.rows},
                      {"loss", epoch.train_loss},
                      {"seconds", epoch.seconds}};
  if (!epoch.evaluation) return fields;
  fields.emplace_back("evaluation_loss", epoch.evaluation->loss);
  for (const auto& [name, value] :
       {std::pair("auc", epoch.evaluation->auc), {"log_loss", epoch.evaluation->log_loss}})
    if (!std::isnan(value)) fields.emplace_back(name, value);
  return fields;
}

// Says an evaluation once the next step shows that the epoch goes on. Where it does not, the line
// of the epoch says it.
class EvaluationLines {
 public:
  EvaluationLines() = default;
  EvaluationLines(const EvaluationLines&) = delete;
  EvaluationLines& operator=(const EvaluationLines&) = delete;
  ~EvaluationLines() { Say(); }

  void Add(const EvaluationReport& report) {
    unsaid_ = [line = EvaluationLine(report), fields = FieldsOf(report)] { Note(line, fields); };
  }
  void Say() {
    if (unsaid_) unsaid_();
    LeaveOut();
  }
  void LeaveOut() { unsaid_ = nullptr; }

 private:
  std::function<void()> unsaid_;
};

void SaySplit(const DataSets& data) {
  if (const auto split = data.split())
    Note(SplitText(split, data.split_counts()), SplitFields(*split, data.split_counts()));
}

}  // namespace

std::string TablesText(const std::vector<EmbeddingBagConfig>& tables) {
  int64_t rows = 0, bytes = 0;
  for (const EmbeddingBagConfig& table : tables) {
    rows += table.num_embeddings;
    bytes += table.num_embeddings * table.embedding_dim * SizeOf(table.data_type);
  }
  return Format("{} of {} in all ({})", Counted(std::ssize(tables), "table"), Counted(rows, "row"),
                Bytes(bytes));
}

TrainingRunReport RunWithOutput(TrainingRunOptions options, Trainer& trainer, const DataSets& data,
                                LossCurve& curve, const RunLogs& logs) {
  Progress progress;
  EvaluationLines evaluations;
  options.on_warning = [](const std::string& warning) { Warn(warning); };
  options.on_evaluation = [&](const EvaluationReport& report) {
    progress.LeaveOut(report.seconds);
    evaluations.Add(report);
  };
  options.on_step = [&, then = options.on_step](const StepReport& step) {
    evaluations.Say();
    then(step);
    curve.Add(step.examples, step.loss);
    progress.OnStep(step);
  };
  options.on_epoch = [&](const EpochReport& epoch) {
    evaluations.LeaveOut();
    Note(EpochLine(epoch), FieldsOf(epoch));
  };
  if (logs.run != nullptr) logs.run->Record(options);
  return logs.mllog == nullptr ? RunTraining(trainer, data, options)
                               : RunLogged(*logs.mllog, options, trainer, data);
}

void SayInterrupted(const TrainFlags& flags, int signal) {
  const std::string how = InterruptedText(signal);
  if (!flags.run.empty())
    Warn(Format("{}: saved {}; the same command{} goes on", how, flags.run,
                flags.overwrite ? " without --overwrite" : ""));
  else if (flags.checkpoint.empty())
    Warn(Format("{}: nothing was saved, as no --checkpoint was given", how));
  else
    Warn(Format("{}: saved {}; the same command with --resume {}{} goes on", how, flags.checkpoint,
                flags.checkpoint, flags.overwrite ? " in place of --overwrite" : ""));
}

void SayIfProductsAreSlow(const Context& ctx) {
  if (ctx.device() == Device::Cpu() && ctx.dense_products() == DenseProducts::kPortable &&
      !HasFma(ChosenIsa()))
    Warn(
        "without AVX2 dense products take some 30 times as long as with "
        "train.dense_products=library, which gives other last bits");
}

// Whether (1 − β2)·g² of a small gradient is below the least number of the states.
bool LosesSecondMoments(const EmbeddingBagConfig& table) {
  const AnyRule& rule = table.optimizer;
  return table.state_type == DType::kF16 &&
         (std::holds_alternative<Adam>(rule) || std::holds_alternative<AdamW>(rule) ||
          std::holds_alternative<PartialRowwiseAdam>(rule));
}

// Whether c = 1 − counter_halflife/k·weight_decay·… is above 1 (counter_rowwise_adagrad.h).
bool GrowsByDecay(const EmbeddingBagConfig& table) {
  const auto* rule = std::get_if<CounterRowwiseAdagrad>(&table.optimizer);
  return rule != nullptr && rule->weight_decay > 0 && rule->counter_halflife < 0 &&
         (rule->weight_decay_mode == WeightDecayMode::kDecouple ||
          rule->weight_decay_mode == WeightDecayMode::kL2);
}

// "table a", or "tables a, b" of those for which `is` holds; "": none.
std::string TablesThat(const TrainConfig& config, bool (*is)(const EmbeddingBagConfig&)) {
  std::vector<std::string> names;
  for (const EmbeddingBagConfig& table : config.tables)
    if (is(table)) names.push_back(table.name);
  return names.empty() ? "" : TablesText(names);
}

// Beside a sketch of so many bytes, admit_after 3 let in 0.2 % of 4,000 ids that came once, in
// batches of 600 at most; beside one of 256 bytes 13 %, and of 64 bytes 85 %.
constexpr int64_t kLeastSketchBytes = 4096;

void WarnOfSmallSketches(const TrainConfig& config) {
  for (const auto& [table, managed] : config.managed_collision) {
    const auto* growing = std::get_if<GrowingIndexOptions>(&managed.module);
    if (growing != nullptr && growing->admit_after > 1 && growing->sketch_bytes > 0 &&
        growing->sketch_bytes < kLeastSketchBytes)
      Warn(Format(
          "managed_collision.sketch_bytes {} of table {}: so small a sketch counts different "
          "ids together, and they get rows before they came {} times; expected {} or more",
          growing->sketch_bytes, table, growing->admit_after, kLeastSketchBytes));
  }
}

void WarnOfSettings(const TrainConfig& config) {
  for (const std::string& idle : IdleSettings(config)) Warn(idle);
  WarnOfSmallSketches(config);
  if (const std::string lossy = TablesThat(config, LosesSecondMoments); !lossy.empty())
    Warn(
        Format("state_dtype f16 of {} beside Adam: second moments of gradients below some 0.005 "
               "come to 0, and the training may diverge; bf16 keeps them",
               lossy));
  if (const std::string growing = TablesThat(config, GrowsByDecay); !growing.empty())
    Warn(
        Format("weight_decay of {} makes rows larger, as in FBGEMM: counter_rowwise_adagrad takes "
               "it times counter_halflife, which is below 0; expected 0 or more, or the "
               "weight_decay_mode ADAGRADW",
               growing));
}

void WarnOfRows(const TrainFlags& flags, const TrainConfig& config) {
  if (config.data.format == DataFormat::kPlanted)
    for (const auto& files : {flags.data, flags.eval})
      if (!files.empty())
        Note(files.front() + " is read as Criteo's text, in place of planted rows");
  const bool shared = flags.eval.empty() && !flags.eval_rows.empty();
  WarnOfRepeatedFiles(flags.data,
                      shared ? ", and a row for evaluation may be trained on in its copy" : "");
  WarnOfRepeatedFiles(flags.eval);
  const std::vector<CategoricalFeature> features = Features(config);
  for (const auto& files : {flags.data, flags.eval})
    WarnOfAbsentKeys(config.data.schema.get(), features, files);
}

void WarnOfSaves(const TrainFlags& flags) {
  if (flags.checkpoint_every == 0) return;
  if (ParsePipelineKind(flags.pipeline) != PipelineKind::kSemiSync) return;
  Warn(
      "--checkpoint-every beside --pipeline semi_sync changes what is trained: a save looks the "
      "next batch up anew, which then lacks no update; the bits are those of a training that saves "
      "at the same steps");
}

void SayInterval(const TrainConfig& config, const DataSets& data) {
  if (!data.has_eval_rows()) return;
  const std::string short_interval = ShortIntervalText(config, data.EpochRows());
  if (!short_interval.empty()) Note(short_interval);
  const std::string unreached = UnreachedIntervalText(config, data.EpochRows());
  if (!unreached.empty()) Warn(unreached);
}

void SayRows(const TrainConfig& config, const DataSets& data) {
  SaySplit(data);
  SayInterval(config, data);
}

void SayResults(const TrainFlags& flags, const TrainConfig& config, const DataSets& data,
                const TrainingRunReport& report, const LossCurve& curve,
                const std::optional<VerifyReport>& verified, const RunRecorder* run) {
  const std::optional<MetricValues> optimum = data.Optimum();
  const std::string picture = curve.Draw(optimum ? std::optional(optimum->log_loss) : std::nullopt);
  if (!picture.empty()) Note("\nloss while training\n" + picture + "\n");
  std::fputs(FinalTable(report, optimum).c_str(), stdout);
  if (!data.EpochRows()) SaySplit(data);  // text, whose rows are counted now
  for (const auto& [unknown, where] :
       {std::pair{data.unknown_items(), "the rows trained on"},
        std::pair{data.unknown_eval_items(), "the rows for evaluation"}})
    std::fputs(UnknownItemsText(unknown.get(), where).c_str(), stdout);
  if (report.evaluations) SayEvaluations(flags, config, *report.evaluations);
  if (!flags.checkpoint.empty()) Note("saved " + flags.checkpoint, {{"path", flags.checkpoint}});
  if (flags.json.empty()) return;
  internal::Json json = ReportJson(report, optimum, data, verified);
  if (run != nullptr) run->AddWholeRun(json);
  ReplaceTextFile(flags.json, json.dump(2) + "\n");
}

}  // namespace tessera::cli
