// tessera recall: how well a two-tower model finds each row's own candidate among all of them,
// beside what is popular and what went together with the row's history.
#include <algorithm>
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
#include "cli/show/log.h"
#include "cli/show/numbers.h"
#include "cli/show/reports.h"
#include "metrics/retrieval_meter.h"
#include "runtime/base/check.h"
#include "runtime/context.h"
#include "runtime/files/files.h"
#include "runtime/tensor.h"
#include "serve/export/model_writer.h"
#include "train/catalogue.h"
#include "train/checkpoint/saved_form.h"
#include "train/histories.h"

namespace tessera::cli {
namespace {

struct RecallFlags {
  std::string model, config, json, memory_limit, part = "all";
  std::vector<std::string> set;
  ScoredRows rows;
  int64_t at = 20, ahead = 0;
  bool keep_history = false;
};

// Rows `ahead` items later: every feature that leaves its last items out leaves fewer out.
DataSchema Ahead(DataSchema schema, int64_t ahead) {
  bool any = false;
  for (FeatureEntry& feature : schema.features) {
    if (feature.drop_last == 0) continue;
    if (feature.drop_last < ahead)
      throw Error(
          Format("--ahead {}: feature '{}' has \"drop_last\": {}, so that nothing is left "
                 "that it was not trained on",
                 ahead, feature.name, feature.drop_last));
    feature.drop_last -= ahead;
    any = true;
  }
  if (!any)
    throw Error(
        Format("--ahead {}: no feature of the data has \"drop_last\", by which its last "
               "items were kept from training",
               ahead));
  return schema;
}

RowInputs InputsOf(const TrainConfig& config, int64_t ahead) {
  RowInputs inputs = RowInputsOf(config);
  if (ahead == 0) return inputs;
  if (inputs.data.schema == nullptr)
    throw Error(
        Format("--ahead is for data of a schema, got the format {}", ToString(inputs.data.format)));
  inputs.data.schema = std::make_shared<const DataSchema>(Ahead(*inputs.data.schema, ahead));
  return inputs;
}

bool AnyFolder(const std::vector<std::string>& files) {
  return std::ranges::any_of(files, [](const std::string& path) { return IsFolder(path); });
}

bool IsText(const RowInputs& inputs) {
  return inputs.data.schema != nullptr && inputs.data.schema->is_text();
}

// Warns of parsed rows whose histories were cut before they were stored.
void WarnOfCutHistories(const RowInputs& inputs, const std::vector<std::string>& history,
                        const std::vector<std::string>& files) {
  if (!IsText(inputs) || !AnyFolder(files)) return;
  for (const FeatureEntry& feature : inputs.data.schema->features)
    if (feature.max_length && std::ranges::count(history, feature.name) > 0)
      Warn(Format("feature '{}' has at most {} in a folder of tessera preprocess (\"max_length\"): "
                  "items beyond them are ranked as candidates, and the baselines do not know them; "
                  "--data of the text takes whole histories",
                  feature.name, Counted(*feature.max_length, "item")),
           {{"feature", feature.name}, {"max_length", *feature.max_length}});
}

// Returns inputs that read whole histories, where the model's are text that cuts them: a model may
// see the last items alone, but all of them are known. Absent where nothing is cut.
std::optional<RowInputs> WithWholeHistories(RowInputs inputs,
                                            const std::vector<std::string>& history,
                                            const std::vector<std::string>& files) {
  if (!IsText(inputs) || AnyFolder(files)) return {};
  DataSchema schema = *inputs.data.schema;
  bool cut = false;
  for (FeatureEntry& feature : schema.features) {
    if (!feature.max_length || std::ranges::count(history, feature.name) == 0) continue;
    feature.max_length.reset();
    cut = true;
  }
  if (!cut) return {};
  for (CategoricalFeature& feature : inputs.features)  // no model embeds these
    if (std::ranges::count(history, feature.name) > 0) feature.max_ids.reset();
  inputs.data.schema = std::make_shared<const DataSchema>(std::move(schema));
  return inputs;
}

// The task that chooses among candidates.
const TrainTask& ChoosingTask(const std::vector<TrainTask>& tasks) {
  const auto found = std::ranges::find_if(
      tasks, [](const auto& task) { return task.task.loss == TaskLoss::kInBatchSoftmax; });
  if (found == tasks.end())
    throw Error(
        Format("recall is of a task by in_batch_softmax, which chooses a candidate; task "
               "'{}' is by {}",
               tasks.front().task.name, ToString(tasks.front().task.loss)));
  return *found;
}

// The ids of a feature, a bag an example.
std::vector<std::vector<int64_t>> Bags(Context& ctx, const Batch& batch,
                                       const std::string& feature) {
  std::vector<std::vector<int64_t>> bags;
  for (const Variable& bag : batch.features.At(ctx, feature).ToDense(ctx))
    bags.push_back(bag.value().To(ctx, DType::kI64).ToVector<int64_t>());
  return bags;
}

// The whole histories of a batch, those of several features joined.
void AddHistories(Context& ctx, const Batch& batch, const CatalogueFeatures& features,
                  Histories& histories) {
  std::vector<std::vector<int64_t>> joined(static_cast<size_t>(batch.size()));
  for (const std::string& feature : features.history) {
    const auto bags = Bags(ctx, batch, feature);
    for (size_t i = 0; i < bags.size(); ++i)
      joined[i].insert(joined[i].end(), bags[i].begin(), bags[i].end());
  }
  for (const auto& bag : joined) histories.Add(bag);
}

// "row 42 (--rows 41:42)"; rows of which some between were left out are not told apart.
std::string PlaceOf(const Batch& batch, int64_t row) {
  const int64_t at = batch.first_row + row;
  if (batch.end_row - batch.first_row == batch.size())
    return Format("row {} (--rows {}:{})", at + 1, at, at + 1);
  return Format("a row of --rows {}:{}", batch.first_row, batch.end_row);
}

struct Baselines {
  std::vector<float> popularity;
  ItemNeighbours neighbours;
};

struct RecallOutcome {
  int64_t candidates = 0;
  int64_t read = 0;      // rows, those among them that do not count
  int64_t left_out = 0;  // rows without a candidate of their own
  RetrievalValues model;
  std::optional<RetrievalValues> neighbours = {}, popularity = {};
  std::string bad_lines = {};
};

// Rows are read once to rank candidates. Baselines read them once before, and histories that the
// model's rows cut are read whole beside them.
class RecallRun {
 public:
  RecallRun(const RecallFlags& flags, const TrainConfig& config, Trainer& trainer)
      : flags_(flags),
        ctx_({.threads = flags.rows.threads}),
        features_(CatalogueFeaturesOf(config)),
        inputs_(InputsOf(config, flags.ahead)),
        whole_(WithWholeHistories(inputs_, features_.history, flags.rows.data)),
        task_(ChoosingTask(trainer.tasks())),
        catalogue_(trainer),
        model_(flags.at),
        neighbours_(flags.at),
        popularity_(flags.at),
        scores_(static_cast<size_t>(features_.items)) {
    flags_.rows.batch_size = std::clamp<int64_t>((int64_t{1} << 24) / features_.items, 1, 256);
    if (features_.history.empty()) return;
    CheckReadAgain(flags_.rows.data,
                   "recall reads its rows more than once, for the baselines of histories");
    FitBaselines();
  }

  RecallOutcome Run() {
    WarnOfScoredRows(flags_.rows, inputs_, flags_.model);
    WarnOfCutHistories(inputs_, features_.history, flags_.rows.data);
    const auto rows = Open(inputs_);
    const auto known = whole_ ? Open(*whole_) : nullptr;
    int64_t read = 0;
    while (const auto batch = rows->Next()) {
      read += batch->size();
      const auto whole = known ? known->Next() : batch;
      TESSERA_CHECK(whole && whole->size() == batch->size(), "rows changed while they were read");
      Histories histories(features_.items);
      AddHistories(ctx_, *whole, features_, histories);
      AddBatch(*batch, histories);
    }
    RecallOutcome outcome{.candidates = features_.items,
                          .read = read,
                          .left_out = left_out_,
                          .model = model_.Values()};
    if (baselines_) outcome.neighbours = neighbours_.Values();
    if (baselines_) outcome.popularity = popularity_.Values();
    if (rows->skipped_rows() > 0)
      outcome.bad_lines = LeftOut(rows->skipped_rows(), rows->skipped_by_reason());
    return outcome;
  }

 private:
  // The rows of which candidates are ranked.
  std::unique_ptr<DataSource> Open(const RowInputs& inputs) const {
    return OpenScoredRows(flags_.rows, inputs, flags_.model);
  }

  void FitBaselines() {
    Histories all(features_.items);
    ScoredRows every = flags_.rows;
    every.range = ":";
    every.part = RowPart::kAll;
    const auto rows = OpenScoredRows(every, whole_.value_or(inputs_), flags_.model);
    while (const auto batch = rows->Next()) AddHistories(ctx_, *batch, features_, all);
    baselines_ = Baselines{all.Popularity(), ItemNeighbours(all)};
  }

  void AddBatch(const Batch& batch, const Histories& histories) {
    const Tensor scores = catalogue_.Scores(batch);
    const auto own = Bags(ctx_, batch, features_.candidate);
    const TaskExamples counted =
        ExamplesOfTask(task_, Tensor::Zeros(ctx_, {batch.size()}), 0, batch);
    for (size_t n = 0; n < counted.rows.size(); ++n) {
      const int64_t row = counted.rows[n];
      const auto& bag = own[static_cast<size_t>(row)];
      if (bag.size() > 1)
        throw Error(Format("{}: {}: expected one id of '{}', which is to be found, got {}",
                           NameOf(flags_.rows), PlaceOf(batch, row), features_.candidate,
                           bag.size()));
      if (bag.empty())
        ++left_out_;
      else
        AddExample(scores.Rows(row, row + 1).span<float>(), bag[0], histories[row],
                   counted.weights.empty() ? 1.0 : double{counted.weights[n]});
    }
  }

  void AddExample(std::span<const float> scores, int64_t own, std::span<const int64_t> history,
                  double weight) {
    const auto without = flags_.keep_history ? std::span<const int64_t>() : history;
    model_.Add(scores, own, without, weight);
    if (!baselines_) return;
    popularity_.Add(baselines_->popularity, own, without, weight);
    baselines_->neighbours.Score(history, scores_);
    neighbours_.Add(scores_, own, without, weight);
  }

  RecallFlags flags_;
  Context ctx_;
  CatalogueFeatures features_;
  RowInputs inputs_;
  std::optional<RowInputs> whole_;  // absent: inputs_ read whole histories
  TrainTask task_;
  Catalogue catalogue_;
  std::optional<Baselines> baselines_;
  RetrievalMeter model_, neighbours_, popularity_;
  std::vector<float> scores_;
  int64_t left_out_ = 0;
};

nlohmann::ordered_json AsJson(const RetrievalValues& values) {
  return {{"recall", values.recall}, {"ndcg", values.ndcg}, {"mrr", values.mrr}};
}

std::string AsJson(const RecallFlags& flags, const RecallOutcome& outcome) {
  nlohmann::ordered_json json = {{"recall_at", flags.at},
                                 {"part", ToString(flags.rows.part)},
                                 {"examples", outcome.model.examples},
                                 {"without_candidate", outcome.left_out},
                                 {"candidates", outcome.candidates},
                                 {"model", AsJson(outcome.model)}};
  if (outcome.neighbours) json["item_knn"] = AsJson(*outcome.neighbours);
  if (outcome.popularity) json["popularity"] = AsJson(*outcome.popularity);
  return json.dump(2) + "\n";
}

void Say(const RecallFlags& flags, const RecallOutcome& outcome) {
  std::vector<std::vector<std::string>> rows = {
      {Format("{} among {}", Counted(outcome.model.examples, "row"),
              Counted(outcome.candidates, "candidate")),
       Format("recall@{}", flags.at), Format("NDCG@{}", flags.at), Format("MRR@{}", flags.at)}};
  const auto add = [&](const char* name, const RetrievalValues& values) {
    rows.push_back({name, Fixed(values.recall, 4), Fixed(values.ndcg, 4), Fixed(values.mrr, 4)});
  };
  add("model", outcome.model);
  if (outcome.neighbours) add("item-kNN", *outcome.neighbours);
  if (outcome.popularity) add("popularity", *outcome.popularity);
  std::printf("%s\n", TextTable(rows).c_str());
  if (!outcome.popularity)
    std::printf("no baselines: no feature of the query is in a table of the candidates\n");
  if (outcome.left_out > 0)
    std::printf("left out %s without a candidate of their own\n",
                Counted(outcome.left_out, "row").c_str());
  if (!outcome.bad_lines.empty()) std::printf("%s\n", outcome.bad_lines.c_str());
}

void CheckAnyRanked(const RecallFlags& flags, const RecallOutcome& outcome,
                    const std::string& candidate) {
  if (outcome.model.examples > 0) return;
  if (outcome.left_out > 0)
    throw Error(Format("{}: none of the {} rows that count has an id of '{}', which is to be found",
                       NameOf(flags.rows), outcome.left_out, candidate));
  CheckAnyScored(flags.rows, false, outcome.read);
}

int Recall(RecallFlags& flags) {
  flags.rows.part = ParseRowPart(flags.part);
  std::vector<std::string> reads = flags.rows.data;
  reads.insert(reads.end(), {flags.model, flags.config});
  Outputs outputs(/*overwrite=*/false, std::move(reads));
  outputs.AddReport(flags.json, kRecallReport);
  const MemoryThere there = MemoryThereIs(flags.memory_limit);
  if (DetectForm(flags.model) == SavedForm::kModelDirectory)
    throw Error(
        Format("{} is {}, which answers with dot products alone; recall needs a "
               "checkpoint of tessera train",
               flags.model, Described(SavedForm::kModelDirectory)));
  const std::optional<TrainConfig> given = ReadConfigIfGiven(flags.config, flags.set);
  const Checkpoint checkpoint = ReadCheckpoint(flags.model);
  CheckScoringMemory(checkpoint, given, there);
  const TrainConfig config = serve::ReadConfig(checkpoint, given);
  Context ctx({.threads = flags.rows.threads});
  Trainer trainer(ctx, config);
  trainer.Load(checkpoint);
  SayPart(flags.rows, RowInputsOf(config), trainer.progress().data, flags.model);
  const RecallOutcome outcome = RecallRun(flags, config, trainer).Run();
  CheckAnyRanked(flags, outcome, CatalogueFeaturesOf(config).candidate);
  Say(flags, outcome);
  SayAllRows(flags.rows, config.data.split.has_value());
  if (!flags.json.empty()) ReplaceTextFile(flags.json, AsJson(flags, outcome));
  return 0;
}

void AddRankingFlags(Command command, RecallFlags& flags) {
  command
      .Add("--ahead", flags.ahead,
           "Look for the candidate N items after the one that was trained on: every \"drop_last\" "
           "of the data is N less; default 0")
      .Within(NumbersFrom(int64_t{0}, int64_t{1} << 24))
      .Value("N");
  command.Add("--at", flags.at, "Count a candidate that is among the first N; default 20")
      .Within(NumbersFrom(int64_t{1}, int64_t{1} << 24))
      .Value("N");
  command.Add("--keep-history", flags.keep_history,
              "Also rank candidates that are in the row's history; without this flag they are left "
              "out, but for the row's own");
}

}  // namespace

void AddRecallCommand(Command app) {
  Command command = app.AddCommand(
      "recall",
      "Rank all candidates of a two-tower model for each row: recall, NDCG and MRR of the row's "
      "own candidate, beside those of popularity and item-kNN.");
  const auto f = std::make_shared<RecallFlags>();
  command.Add("model", f->model, "A checkpoint of tessera train in any form")
      .Required()
      .Value("PATH");
  command
      .Add("--data", f->rows.data,
           "Rows of the format that the model was trained on; plain, .gz or .zst")
      .Required()
      .Value("FILE");
  command
      .Add("--rows", f->rows.range,
           "Rank candidates only for these rows; default: all. The baselines know the histories "
           "of all")
      .Value("FIRST:LAST");
  AddPartFlag(command, "Rank candidates only for", f->part);
  AddRankingFlags(command, *f);
  command.Add("--threads", f->rows.threads, "Number of threads; default 1")
      .Within(NumbersFrom(1, 1024))
      .Value("N");
  AddSkipBadLinesFlag(command, f->rows.skip_bad_lines);
  AddConfigFlags(command, "Read the training configuration from this file, not from the checkpoint",
                 f->config, f->set);
  command.Add("--json", f->json, "Write the figures to this file as JSON").Value("FILE");
  AddMemoryLimitFlag(command, f->memory_limit);
  command.Run([f] { return Recall(*f); });
}

}  // namespace tessera::cli
