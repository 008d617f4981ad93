// tessera evaluate: every metric of a saved model on rows, as its training evaluates them, and by
// groups of rows.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/config_flags.h"
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
#include "data/files/data_identity.h"
#include "data/files/row_preparation.h"
#include "data/rows/row_rules.h"
#include "data/schema/data_schema.h"
#include "data/split/row_split.h"
#include "data/synthetic/click_model.h"
#include "runtime/base/check.h"
#include "runtime/base/machine.h"
#include "runtime/base/process_memory.h"
#include "runtime/files/files.h"
#include "train/grouped_meter.h"
#include "train/optimum.h"
#include "train/run/row_counter.h"

namespace tessera::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kRowsAre[] = "rows";

constexpr char kFooter[] =
    "\n"
    "Examples:\n"
    "  tessera evaluate model.safetensors --data clicks.tsv --rows 56000:64000\n"
    "  tessera evaluate model.safetensors --data day_23.gz --by cat_3 --json day_23.json\n"
    "  tessera evaluate served --data clicks.tsv --rows 56000:64000\n"
    "  tessera evaluate model.safetensors --data clicks.tsv --part eval\n"
    "  tessera evaluate model.safetensors --data clicks.tsv --device cuda\n"
    "  tessera evaluate model.safetensors          (of synthetic rows: those for evaluation)\n"
    "\n"
    "The rows that a training on a CPU without ranks evaluates give its metrics, bit for bit; on a "
    "GPU or over ranks, dense products may differ in their last bits. A model directory has the "
    "rows that tessera quantize made, and no values of tasks by in_batch_softmax.\n"
    "--part eval of the data of a training with data.split gives the metrics of that training's "
    "own evaluations.\n"
    "--by: ids are those that the model reads, for instance modulo the rows of a table; those of a "
    "vocabulary are printed as its words. The AUC of "
    "groups is the mean of their AUCs, each weighed by its rows, without groups that have one "
    "label alone.\n";

struct Flags {
  std::string model, config, json, by, memory_limit, part = ToString(RowPart::kAll), device = "cpu";
  std::vector<std::string> set;
  int64_t groups = 10;
  ScoredRows rows = {.batch_size = kEvaluationBatch, .threads = 0};
};

struct Outcome {
  EvaluationValues values;
  FeatureEntry by = {};  // that groups are by, where a schema says what its ids are
  std::vector<GroupValues> groups;
  std::optional<MetricValues> optimum;  // of planted rows
  std::string split = {};               // of the rows of the model's training, in words
  int64_t rows = 0, rows_read = 0, skipped_rows = 0, not_finite = 0;
  BadLineCounts skipped_by_reason;
  double seconds = 0;
};

// The rows of a model whose data are made up, where no files are given: those for evaluation, or
// the range that is.
struct MadeUpRows {
  DataConfig data;
  RowRange range;
};

// Whether a model whose format could make rows up was trained on files, as far as it says so.
bool IsOfFiles(const RowScorer& model) {
  const std::string& prepared = model.inputs().data.prepared;
  if (!prepared.empty() && prepared != kMadeUpRows) return true;
  const std::string read = model.training_data();
  return !read.empty() && !DataIdentityFromText(read).paths.empty();
}

std::optional<MadeUpRows> MadeUpRowsOf(const Flags& flags, const RowScorer& model) {
  if (!flags.rows.data.empty()) return {};
  const RowInputs& inputs = model.inputs();
  MadeUpRows rows{inputs.data, {inputs.data.rows, inputs.data.rows + inputs.data.eval_rows}};
  const bool made_up =
      rows.data.format == DataFormat::kPlanted || rows.data.format == DataFormat::kRandom;
  if (!made_up)
    throw Error(Format("{}: it is of rows of the format {}: give --data FILE", flags.model,
                       ToString(rows.data.format)));
  if (IsOfFiles(model))
    throw Error(
        Format("{}: its format is {}, but it was trained on files (--data), not on made-up rows: "
               "give --data FILE",
               flags.model, ToString(rows.data.format)));
  if (flags.rows.range != ":") rows.range = ParseRowRange(flags.rows.range, "--rows");
  if (rows.range.first == rows.range.last || rows.range.last == RowRange::kEnd)
    throw Error(
        Format("{}: its data are made up, and {}: give --rows FIRST:LAST", flags.model,
               flags.rows.range == ":" ? "none of them are for evaluation" : "--rows has no end"));
  return rows;
}

std::unique_ptr<DataSource> OpenRows(const Flags& flags, RowInputs inputs,
                                     const std::optional<MadeUpRows>& made_up) {
  if (!made_up) return OpenScoredRows(flags.rows, inputs, flags.model);
  inputs.data = made_up->data;
  return DataSets(inputs, {.train_rows = made_up->range}).OpenInOrder(kEvaluationBatch);
}

std::optional<MetricValues> OptimumOf(const std::optional<MadeUpRows>& rows) {
  if (!rows || rows->data.format != DataFormat::kPlanted) return {};
  return ComputeOptimum(ClickModel(rows->data.planted), rows->range);
}

// The examples of a batch, counted as they come.
void Count(std::span<const TaskExamples> tasks, Outcome& outcome) {
  for (const TaskExamples& task : tasks)
    outcome.not_finite += std::ranges::count_if(
        task.predictions, [](float prediction) { return !std::isfinite(prediction); });
}

Outcome EvaluateAll(const Flags& flags, RowScorer& model) {
  SayPart(flags.rows, model.inputs(), model.training_data(), flags.model);
  WarnOfScoredRows(flags.rows, model.inputs(), flags.model);
  const std::optional<MadeUpRows> made_up = MadeUpRowsOf(flags, model);
  Outcome outcome;
  std::optional<GroupedMeter> groups;
  std::unique_ptr<DataSource> source = OpenRows(flags, model.inputs(), made_up);
  DataSource& rows = *source;
  if (!flags.by.empty()) source = groups.emplace(model.tasks(), flags.by).Over(std::move(source));
  const auto begin = std::chrono::steady_clock::now();
  RowCounter counted(*source);
  outcome.values = model.Evaluate(counted, [&](std::span<const TaskExamples> tasks) {
    Count(tasks, outcome);
    if (groups) groups->Add(tasks);
  });
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (const NamedTaskValues& task : outcome.values.tasks)
    outcome.rows = std::max(outcome.rows, task.values.clicks.examples);
  outcome.rows_read = counted.rows();
  outcome.skipped_rows = rows.skipped_rows();
  outcome.skipped_by_reason = rows.skipped_by_reason();
  if (groups) outcome.groups = groups->Groups();
  if (const auto& schema = model.inputs().data.schema) outcome.by = schema->Feature(flags.by);
  outcome.optimum = OptimumOf(made_up);
  if (model.inputs().data.split) outcome.split = ToString(*model.inputs().data.split);
  return outcome;
}

std::string NameOf(const Outcome& outcome, const GroupValues& group) {
  if (!group.has_id) return "(none)";
  if (outcome.by.ids != IdKind::kVocabulary) return std::to_string(group.id);
  const std::string word = WordOfRow(outcome.by, group.id);
  if (!word.empty()) return word;
  const bool is_missing = group.id == 0 && outcome.by.missing == MissingFeature::kRow0;
  return is_missing ? "(missing)" : "(another word)";
}

// A row a group, of the largest ones, and a column a metric of a task.
std::string GroupsTable(const Flags& flags, const Outcome& outcome) {
  std::vector<std::vector<std::string>> table = {{flags.by, "rows", "metrics"}};
  for (const GroupValues& group : outcome.groups) {
    if (std::ssize(table) > flags.groups) break;
    int64_t rows = 0;
    std::string metrics;
    for (const NamedTaskValues& task : group.values.tasks) {
      rows = std::max(rows, task.values.clicks.examples);
      if (task.loss == TaskLoss::kInBatchSoftmax) continue;
      metrics += (metrics.empty() ? "" : "  ") +
                 (group.values.tasks.size() > 1 ? task.task + "  " : "") + ShortText(task);
    }
    table.push_back({NameOf(outcome, group), WithCommas(static_cast<double>(rows)), metrics});
  }
  std::string text = TextTable(table);
  if (std::ssize(outcome.groups) > flags.groups)
    text += Format("the {} largest of {} groups\n", flags.groups,
                   WithCommas(static_cast<double>(outcome.groups.size())));
  return text;
}

std::string GroupedAucText(const Flags& flags, const Outcome& outcome) {
  std::string text;
  const auto& tasks = outcome.values.tasks;
  for (size_t t = 0; t < tasks.size(); ++t)
    if (tasks[t].loss == TaskLoss::kBce)
      text += Format("{}AUC {} within groups of {}\n", tasks.size() > 1 ? tasks[t].task + ": " : "",
                     Fixed(GroupedAuc(outcome.groups, t), 4), flags.by);
  return text;
}

void Say(const Flags& flags, const Outcome& outcome) {
  std::fputs(EvaluationTable(outcome.values, kRowsAre, outcome.optimum).c_str(), stdout);
  if (outcome.not_finite > 0)
    Warn(Format("{} scores are not finite (NaN or infinite): AUC and log-loss mean nothing",
                WithCommas(static_cast<double>(outcome.not_finite))),
         {{"not_finite", outcome.not_finite}});
  if (!flags.by.empty())
    std::printf("\n%s%s", GroupsTable(flags, outcome).c_str(),
                GroupedAucText(flags, outcome).c_str());
  if (outcome.skipped_rows > 0)
    std::printf("%s\n", LeftOut(outcome.skipped_rows, outcome.skipped_by_reason).c_str());
  SayAllRows(flags.rows, !outcome.split.empty());
  std::fputs(UnknownItemsText(flags.rows.unknown_items.get(), "the rows").c_str(), stdout);
  std::printf("%.2f s, %s rows/s\n", outcome.seconds,
              WithCommas(static_cast<double>(outcome.rows) / outcome.seconds).c_str());
}

Json GroupsJson(const Flags& flags, const Outcome& outcome) {
  Json json = {{"feature", flags.by}, {"groups", Json::array()}};
  const auto& tasks = outcome.values.tasks;
  for (size_t t = 0; t < tasks.size(); ++t)
    if (tasks[t].loss == TaskLoss::kBce)
      json["auc_within_groups"][tasks[t].task] = GroupedAuc(outcome.groups, t);
  for (const GroupValues& group : outcome.groups) {
    Json entry = {{"id", group.has_id ? Json(group.id) : Json(nullptr)},
                  {"examples", group.values.examples}};
    if (const std::string word = WordOfRow(outcome.by, group.id); group.has_id && !word.empty())
      entry["word"] = word;
    AddEvaluation(entry, group.values);
    json["groups"].push_back(std::move(entry));
  }
  return json;
}

std::string AsJson(const Flags& flags, const Outcome& outcome) {
  Json json;
  AddEvaluation(json, outcome.values);
  json.update({{"examples", outcome.rows},
               {"part", ToString(flags.rows.part)},
               {"split", outcome.split},
               {"skipped_rows", outcome.skipped_rows},
               {"not_finite", outcome.not_finite},
               {"seconds", outcome.seconds}});
  AddMemory(MemoryOfProcess(), json);
  if (outcome.optimum) AddMetrics(json["optimum"], outcome.optimum);
  AddUnknownItems(flags.rows.unknown_items.get(), "unknown_items", json);
  if (!flags.by.empty()) json["by"] = GroupsJson(flags, outcome);
  return json.dump(2) + "\n";
}

int Evaluate(Flags& flags) {
  std::vector<std::string> reads = flags.rows.data;
  reads.insert(reads.end(), {flags.model, flags.config});
  Outputs outputs(/*overwrite=*/false, std::move(reads));
  outputs.AddReport(flags.json, kEvaluation);
  flags.rows.unknown_items = std::make_shared<UnknownItems>();
  flags.rows.part = ParseRowPart(flags.part);
  if (flags.rows.threads == 0) flags.rows.threads = DefaultThreads();
  const MemoryThere there = MemoryThereIs(flags.memory_limit);
  RowScorer model(flags.model, ConfigForModel(flags.model, flags.config, flags.set),
                  {.threads = flags.rows.threads,
                   .batch_size = kEvaluationBatch,
                   .device = ParseDevice(flags.device),
                   .there = &there});
  if (!model.is_checkpoint()) model.CheckHasMetrics(flags.model);
  const Outcome outcome = EvaluateAll(flags, model);
  CheckAnyScored(flags.rows, outcome.rows > 0, outcome.rows_read);
  Say(flags, outcome);
  if (!flags.json.empty()) ReplaceTextFile(flags.json, AsJson(flags, outcome));
  return 0;
}

}  // namespace

void AddEvaluateCommand(Command app) {
  Command command = app.AddCommand(
      "evaluate",
      "Measure a checkpoint or a model directory on rows: every metric of each task, as training "
      "evaluates it, and by groups of rows.");
  const auto f = std::make_shared<Flags>();
  command
      .Add("model", f->model,
           "A checkpoint of tessera train in any form, or a model directory of tessera quantize")
      .Required()
      .Value("PATH");
  command
      .Add("--data", f->rows.data,
           "Evaluate on these rows: files of the format that the model was trained on; plain, .gz "
           "or .zst. A model of synthetic data needs none")
      .Value("FILE");
  command.Add("--rows", f->rows.range, "Evaluate only on these rows; default: all")
      .Value("FIRST:LAST");
  AddPartFlag(command, "Evaluate only on", f->part);
  command
      .Add("--by", f->by,
           "Also measure each group of rows whose first id of this feature is the same, and the "
           "AUC within groups")
      .Value("FEATURE");
  command.Add("--groups", f->groups, "With --by: print the N largest groups; default 10")
      .Within(NumbersFrom(int64_t{1}, int64_t{1} << 24))
      .Value("N")
      .Needs("--by");
  command.Add("--threads", f->rows.threads, "Number of threads; default: all cores")
      .Within(NumbersFrom(1, 1024))
      .Value("N");
  command
      .Add("--device", f->device,
           "Device to evaluate a checkpoint on: cpu, cuda, or cuda:N for GPU number N; default cpu")
      .Value("DEVICE");
  AddSkipBadLinesFlag(command, f->rows.skip_bad_lines);
  AddConfigFlags(command, "Read the training configuration from this file, not from the checkpoint",
                 f->config, f->set);
  command.Add("--json", f->json, "Write the metrics to this file as JSON, those of all groups too")
      .Value("FILE");
  AddMemoryLimitFlag(command, f->memory_limit);
  command.Footer(kFooter);
  command.Run([f] { return Evaluate(*f); });
}

}  // namespace tessera::cli
