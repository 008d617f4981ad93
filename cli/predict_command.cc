// tessera predict: scores rows with a saved model, measures the scores where labels are known, and
// times it.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "cli/command.h"
#include "cli/config_flags.h"
#include "cli/latencies.h"
#include "cli/memory_limit_flag.h"
#include "cli/outputs.h"
#include "cli/scored_rows.h"
#include "cli/show/bad_lines.h"
#include "cli/show/evaluation_report.h"
#include "cli/show/log.h"
#include "cli/show/memory_text.h"
#include "cli/show/numbers.h"
#include "cli/show/reports.h"
#include "cli/show/unknown_items_text.h"
#include "runtime/base/process_memory.h"
#include "runtime/files/files.h"
#include "runtime/tensor.h"

namespace tessera::cli {
namespace {

struct PredictFlags {
  std::vector<std::string> set;
  std::string model, checkpoint, config, json, out, memory_limit, part = ToString(RowPart::kAll);
  ScoredRows rows;
};

struct PredictOutcome {
  EvaluationValues metrics;
  Latencies latencies;
  std::string scores;  // a heading and a line a row, if they are asked for
  int64_t rows = 0, skipped_rows = 0;
  BadLineCounts skipped_by_reason;
  std::optional<EvaluationValues> of_checkpoint;
  int64_t not_finite = 0;  // answers
};

// "score_click\tscore_rating\n"; "score\n" for one answer.
std::string ScoresHeading(const std::vector<TrainTask>& tasks) {
  if (tasks.size() == 1) return Format("{}\n", kScore);
  std::string line;
  for (const TrainTask& task : tasks)
    line += (line.empty() ? "" : "\t") + (kScoresOfTasks + task.task.name);
  return line + "\n";
}

void AppendScores(std::span<const float> answers, size_t tasks, std::string& lines) {
  for (size_t i = 0; i < answers.size(); ++i)
    lines += Format("{:.9g}{}", answers[i], (i + 1) % tasks == 0 ? '\n' : '\t');
}

PredictOutcome PredictAll(const PredictFlags& flags, RowScorer& model) {
  SayPart(flags.rows, model.inputs(), model.training_data(), flags.model);
  WarnOfScoredRows(flags.rows, model.inputs(), flags.model);
  PredictOutcome outcome;
  if (!flags.out.empty()) outcome.scores = ScoresHeading(model.tasks());
  EvaluationMeter meter(model.tasks());
  const auto source = OpenScoredRows(flags.rows, model.inputs(), flags.model);
  while (const auto batch = source->Next()) {
    const auto begin = std::chrono::steady_clock::now();
    const Tensor scores = model.Score(*batch);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    outcome.latencies.Add(taken.count());
    outcome.rows += batch->size();
    outcome.not_finite += std::ranges::count_if(scores.span<float>(),
                                                [](float score) { return !std::isfinite(score); });
    if (!flags.rows.no_labels) model.Measure(*batch, scores, meter);
    if (!flags.out.empty())
      AppendScores(scores.span<float>(), model.tasks().size(), outcome.scores);
  }
  outcome.metrics = meter.Values();
  outcome.skipped_rows = source->skipped_rows();
  outcome.skipped_by_reason = source->skipped_by_reason();
  return outcome;
}

std::optional<TrainConfig> ReadConfig(const PredictFlags& flags) {
  if (flags.checkpoint.empty()) return ConfigForModel(flags.model, flags.config, flags.set);
  return ReadConfigIfGiven(flags.config, flags.set);
}

std::string AsJson(const PredictFlags& flags, const PredictOutcome& outcome) {
  nlohmann::ordered_json json;
  AddEvaluation(json, outcome.metrics);
  json.update({{"examples", outcome.rows},
               {"counted_examples", outcome.metrics.examples},
               {"part", ToString(flags.rows.part)},
               {"skipped_rows", outcome.skipped_rows},
               {"not_finite", outcome.not_finite},
               {"calls", outcome.latencies.count()},
               {"p50_seconds", outcome.latencies.Quantile(0.5)},
               {"p99_seconds", outcome.latencies.Quantile(0.99)},
               {"p999_seconds", outcome.latencies.Quantile(0.999)}});
  AddMemory(MemoryOfProcess(), json);
  AddUnknownItems(flags.rows.unknown_items.get(), "unknown_items", json);
  if (outcome.of_checkpoint) {
    json["auc_loss"] = outcome.of_checkpoint->auc - outcome.metrics.auc;
    AddEvaluation(json["checkpoint"], outcome.of_checkpoint);
  }
  return json.dump(2) + "\n";
}

// ", 262 of which count": of rows scored, those whose label is there.
std::string CountedText(const PredictOutcome& outcome) {
  const int64_t counted = outcome.metrics.examples;
  return counted == outcome.rows ? "" : Format(", {} of which count", Count(counted));
}

void SayMetrics(const PredictFlags& flags, const PredictOutcome& outcome) {
  const EvaluationValues& values = outcome.metrics;
  const std::string examples = Counted(outcome.rows, "example");
  if (flags.rows.no_labels)
    std::printf("%s, without labels\n", examples.c_str());
  else if (HasTasks(values))
    std::printf("%s\n", EvaluationTable(values, "the rows scored").c_str());
  else
    std::printf("%s%s: AUC %s, log-loss %s, normalized entropy %s, calibration %s\n",
                examples.c_str(), CountedText(outcome).c_str(), Fixed(values.auc, 6).c_str(),
                Fixed(values.log_loss, 6).c_str(), Fixed(values.normalized_entropy, 4).c_str(),
                Fixed(values.calibration, 4).c_str());
}

void Say(const PredictFlags& flags, const PredictOutcome& outcome) {
  SayMetrics(flags, outcome);
  if (outcome.not_finite > 0)
    Warn(Format("{} of {} scores are not finite (NaN or infinite): AUC and log-loss mean nothing",
                Count(outcome.not_finite),
                WithCommas(static_cast<double>(outcome.rows) *
                           static_cast<double>(outcome.metrics.tasks.size()))),
         {{"not_finite", outcome.not_finite}});
  if (outcome.skipped_rows > 0)
    std::printf("%s\n", LeftOut(outcome.skipped_rows, outcome.skipped_by_reason).c_str());
  std::fputs(UnknownItemsText(flags.rows.unknown_items.get(), "the rows scored").c_str(), stdout);
  std::printf("%s of %lld: %s",
              Counted(static_cast<int64_t>(outcome.latencies.count()), "call").c_str(),
              static_cast<long long>(flags.rows.batch_size), outcome.latencies.Text().c_str());
}

void CheckOutputs(const PredictFlags& flags) {
  std::vector<std::string> reads = flags.rows.data;
  reads.insert(reads.end(), {flags.model, flags.checkpoint, flags.config});
  Outputs outputs(/*overwrite=*/false, std::move(reads));
  outputs.AddReport(flags.json, kEvaluation);
  outputs.AddReport(flags.out, kScores);
}

int Predict(PredictFlags& flags) {
  flags.rows.unknown_items = std::make_shared<UnknownItems>();
  flags.rows.part = ParseRowPart(flags.part);
  CheckOutputs(flags);
  if (!flags.checkpoint.empty())
    CheckReadAgain(flags.rows.data, "predict scores its rows twice, also by --checkpoint");
  const MemoryThere there = MemoryThereIs(flags.memory_limit);
  const std::optional<TrainConfig> config = ReadConfig(flags);
  RowScorer model(
      flags.model, config,
      {.threads = flags.rows.threads, .batch_size = flags.rows.batch_size, .there = &there});
  if (!flags.checkpoint.empty()) {
    model.CheckHasMetrics("--checkpoint");
    CheckScoringMemory(ReadCheckpoint(flags.checkpoint), config, there);
  }
  PredictOutcome outcome = PredictAll(flags, model);
  CheckAnyScored(flags.rows, outcome.rows > 0);
  Say(flags, outcome);
  SayAllRows(flags.rows, model.inputs().data.split.has_value());
  if (!flags.checkpoint.empty()) {
    // The checkpoint scores the same rows, read as the model reads them.
    const auto source = OpenScoredRows(flags.rows, model.inputs(), flags.model);
    outcome.of_checkpoint =
        RowScorer(ReadCheckpoint(flags.checkpoint), config, flags.rows.threads).ScoreAll(*source);
    std::printf("%s\n", QualityLossText(*outcome.of_checkpoint, outcome.metrics).c_str());
  }
  if (!flags.json.empty()) ReplaceTextFile(flags.json, AsJson(flags, outcome));
  if (!flags.out.empty()) ReplaceTextFile(flags.out, outcome.scores);
  if (!flags.out.empty() && outcome.skipped_rows > 0)
    Note(flags.out + " has no line for rows that were left out", {{"path", flags.out}});
  return 0;
}

}  // namespace

void AddPredictCommand(Command app) {
  Command command = app.AddCommand(
      "predict",
      "Score rows with a model directory or a checkpoint: metrics of each task, scores, and "
      "latencies.");
  const auto f = std::make_shared<PredictFlags>();
  command
      .Add("model", f->model,
           "A model directory of tessera quantize, or a checkpoint of tessera train in any "
           "form")
      .Required()
      .Value("PATH");
  command
      .Add("--data", f->rows.data,
           "Score these rows: files of the format that the model was trained on, else Criteo text; "
           "plain, .gz or .zst")
      .Required()
      .Value("FILE");
  command.Add("--rows", f->rows.range, "Score only these rows; default: all").Value("FIRST:LAST");
  AddPartFlag(command, "Score only", f->part);
  command.Add("--batch-size", f->rows.batch_size, "Examples of each call; default 64")
      .Within(NumbersFrom(int64_t{1}, int64_t{1} << 24))
      .Value("N");
  command.Add("--threads", f->rows.threads, "Threads of each call; default 1")
      .Within(NumbersFrom(1, 1024))
      .Value("N");
  AddSkipBadLinesFlag(command, f->rows.skip_bad_lines);
  Flag no_labels = command.Add("--no-labels", f->rows.no_labels,
                               "Score rows that have no labels, of format jsonl, csv or tsv; there "
                               "are no metrics then");
  command
      .Add("--checkpoint", f->checkpoint,
           "Score the same rows with the checkpoint, too, and print how much AUC (of a task by "
           "mse, RMSE) was lost")
      .Excludes(no_labels)
      .Value("PATH");
  AddConfigFlags(command, "Read the training configuration from this file, not from the checkpoint",
                 f->config, f->set);
  command
      .Add("-o,--out", f->out,
           "Write the scores to this file: a heading (score; of several tasks score_NAME, a column "
           "each, with tabs between), then a line for each row that is scored")
      .Value("FILE");
  command.Add("--json", f->json, "Write metrics and latencies to this file as JSON").Value("FILE");
  AddMemoryLimitFlag(command, f->memory_limit);
  command.Run([f] { return Predict(*f); });
}

}  // namespace tessera::cli
