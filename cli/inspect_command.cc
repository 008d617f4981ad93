// tessera inspect: prints what is in a saved model of any form, or in a folder of rows.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/show/checkpoint_summary.h"
#include "cli/show/model_directory_summary.h"
#include "cli/show/numbers.h"
#include "cli/show/row_folder_summary.h"
#include "data/files/row_folder.h"
#include "data/files/row_preparation.h"
#include "runtime/base/check.h"
#include "runtime/base/joined.h"
#include "train/checkpoint/saved_form.h"
#include "train/run/evaluation_schedule.h"

namespace tessera::cli {
namespace {

using Json = nlohmann::ordered_json;

// Adds the column that says how many raw ids have a row, where there are any tables of raw ids.
void AddRawIds(const CheckpointSummary& summary, std::vector<std::vector<std::string>>& rows) {
  const auto& tables = summary.tables;
  if (std::ranges::none_of(tables, [](const auto& t) { return t.raw_ids.has_value(); })) return;
  rows.front().push_back("raw ids of rows");
  for (size_t t = 0; t < tables.size(); ++t) {
    const int64_t declared = std::max(tables[t].declared_rows, tables[t].rows);
    rows[t + 1].push_back(
        tables[t].raw_ids ? Format("{} of {}", Count(*tables[t].raw_ids), Count(declared)) : "");
  }
  rows.back().push_back("");
}

std::string TablesText(const CheckpointSummary& summary) {
  std::vector<std::vector<std::string>> rows = {
      {"table", "rows", "dim", "dtype", "size", "optimizer", "its state"}};
  for (const TableSummary& t : summary.tables)
    rows.push_back({t.name, Count(t.rows), std::to_string(t.dim), t.dtype, Bytes(t.bytes),
                    t.optimizer, Bytes(t.state_bytes)});
  rows.push_back({"dense part", "", "", "", Bytes(summary.dense_bytes), summary.dense_optimizer,
                  Bytes(summary.dense_state_bytes)});
  AddRawIds(summary, rows);
  if (summary.ranks > 0) {
    rows.front().push_back("sharding");
    for (size_t t = 0; t < summary.tables.size(); ++t)
      rows[t + 1].push_back(summary.tables[t].sharding);
    rows.back().push_back("");
  }
  return TextTable(rows) + "\n";
}

std::string ProgramText(const CheckpointSummary& summary) {
  std::vector<std::vector<std::string>> rows = {
      {"tensor", "shape", "dtype", "size", "state of the optimizer", "its size"}};
  for (const TensorSummary& t : summary.tensors) {
    const std::string states = internal::Joined(t.states);
    rows.push_back({t.name, t.shape, t.dtype, Bytes(t.bytes), states, Bytes(t.state_bytes)});
  }
  const TrainingProgress& p = *summary.progress;
  return TextTable(rows) + Format(
                               "\nsaved by a program with SaveCheckpoint; LoadCheckpoint reads it\n"
                               "epochs done {}, next row {}, step {}, seed {}\n",
                               p.epoch, p.row, p.step, p.seed);
}

// "best auc 0.7672, of step 79 (epoch 1); 2 evaluations since", and whether one is due; "" if there
// was none.
std::string EvaluationText(const std::string& saved) {
  const EvaluationState state = EvaluationStateFromText(saved);
  std::string text;
  if (state.best)
    text = Format("best {} {}, of step {} (epoch {}); {} since\n", state.metric,
                  Fixed(state.best->value, 4), state.best->at.step, state.best->at.epoch,
                  Counted(state.since_best, "evaluation"));
  if (state.due && !state.metric.empty())  // else of --metrics alone
    text += Format(
        "the evaluation of step {} was not made yet when it was saved; --resume makes "
        "it first\n",
        state.due->step);
  return text;
}

std::string TrainedOnText(const std::string& prepared) {
  return prepared.empty() ? "" : Format("trained on {}\n", PreparationText(prepared));
}

std::string AsText(const CheckpointSummary& summary) {
  if (summary.of_program) return ProgramText(summary);
  std::string text = TablesText(summary);
  if (summary.ranks > 0) text += Format("saved by {}\n", Counted(summary.ranks, "rank"));
  if (const auto& chain = summary.chain)
    text +=
        Format("a base of {} and {} of changes of {}, up to number {}\n", Bytes(chain->base_bytes),
               Counted(chain->deltas, "file"), Bytes(chain->delta_bytes), chain->number);
  if (!summary.progress && summary.has_optimizer_state)
    return text + Format("optimizer state, but no place in a training: its metadata lack {}\n",
                         ProgressKeys());
  if (!summary.progress)
    return text + "weights alone: no optimizer state, no place in a training\n";
  const TrainingProgress& p = *summary.progress;
  return text +
         Format("epochs done {}, next row {}, step {}, iter {}, seed {}\n", p.epoch, p.row, p.step,
                p.iter, p.seed) +
         EvaluationText(p.evaluation) + TrainedOnText(summary.prepared);
}

Json TableJson(const TableSummary& t) {
  Json json = {{"name", t.name},
               {"rows", t.rows},
               {"dim", t.dim},
               {"dtype", t.dtype},
               {"bytes", t.bytes},
               {"optimizer", t.optimizer},
               {"optimizer_bytes", t.state_bytes}};
  if (!t.sharding.empty()) json["sharding"] = t.sharding;
  if (t.raw_ids) {
    json["raw_ids"] = *t.raw_ids;
    json["declared_rows"] = std::max(t.declared_rows, t.rows);
  }
  return json;
}

std::string ProgramJson(const CheckpointSummary& summary) {
  Json json = {{"saved_by", "SaveCheckpoint"}, {"tensors", Json::array()}};
  for (const TensorSummary& t : summary.tensors)
    json["tensors"].push_back({{"name", t.name},
                               {"shape", Json::parse(t.shape)},
                               {"dtype", t.dtype},
                               {"bytes", t.bytes},
                               {"optimizer_states", t.states},
                               {"optimizer_bytes", t.state_bytes}});
  const TrainingProgress& p = *summary.progress;
  json["progress"] = {{"epoch", p.epoch}, {"row", p.row}, {"step", p.step}, {"seed", p.seed}};
  return json.dump(2) + "\n";
}

std::string AsJson(const CheckpointSummary& summary) {
  if (summary.of_program) return ProgramJson(summary);
  Json json = {{"tables", Json::array()}};
  for (const TableSummary& t : summary.tables) json["tables"].push_back(TableJson(t));
  json["dense"] = {{"parameters", summary.dense_parameters},
                   {"bytes", summary.dense_bytes},
                   {"optimizer", summary.dense_optimizer},
                   {"optimizer_bytes", summary.dense_state_bytes}};
  if (summary.ranks > 0) json["ranks"] = summary.ranks;
  if (const auto& c = summary.chain)
    json["chain"] = {{"number", c->number},
                     {"deltas", c->deltas},
                     {"base_bytes", c->base_bytes},
                     {"delta_bytes", c->delta_bytes}};
  if (const auto& p = summary.progress)
    json["progress"] = {{"epoch", p->epoch},
                        {"row", p->row},
                        {"step", p->step},
                        {"iter", p->iter},
                        {"seed", p->seed}};
  if (summary.progress && !summary.progress->evaluation.empty())
    json["evaluation"] = Json::parse(summary.progress->evaluation);
  if (!summary.config.empty()) json["config"] = Json::parse(summary.config);
  return json.dump(2) + "\n";
}

int InspectRows(const std::string& path, bool as_json) {
  std::fputs((as_json ? RowFolderJson(path) : RowFolderText(path)).c_str(), stdout);
  return 0;
}

// Shows the versions that are good before it fails for the others.
int InspectDirectory(const std::string& path, bool as_json) {
  const ModelDirectorySummary summary = SummarizeModelDirectory(path, as_json);
  std::fputs(summary.text.c_str(), stdout);
  if (!summary.failure.empty()) throw Error(summary.failure);
  return 0;
}

int Inspect(const std::string& path, bool as_json) {
  if (IsRowFolder(path)) return InspectRows(path, as_json);
  if (DetectForm(path) == SavedForm::kModelDirectory) return InspectDirectory(path, as_json);
  const CheckpointSummary summary = SummarizeCheckpoint(path);
  std::fputs((as_json ? AsJson(summary) : AsText(summary)).c_str(), stdout);
  return 0;
}

}  // namespace

void AddInspectCommand(Command app) {
  Command command = app.AddCommand(
      "inspect",
      "Show what is in a checkpoint (tables, sizes, optimizers, step), in a model directory or a "
      "folder of its versions, or in rows of tessera preprocess. Everything shown has been "
      "checked; versions that cannot be loaded are named in the end, and the exit code is 1.");
  const auto path = std::make_shared<std::string>();
  const auto as_json = std::make_shared<bool>(false);
  command
      .Add(
          "checkpoint", *path,
          "A checkpoint of tessera train in any form, a file that a program saved with "
          "SaveCheckpoint, a safetensors file of a TorchRec DLRM, a model directory or a folder of "
          "versions of tessera quantize, or a folder of rows of tessera preprocess")
      .Required()
      .Value("PATH");
  command.Add("--json", *as_json,
              "Print JSON to standard output; this is a switch, and takes no FILE as --json "
              "of train, plan and predict does");
  command.Run([=] { return Inspect(*path, *as_json); });
}

}  // namespace tessera::cli
