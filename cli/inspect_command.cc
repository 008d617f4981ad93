// tessera inspect: what is in a checkpoint.
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/numbers.h"
#include "runtime/check.h"
#include "train/checkpoint/checkpoint.h"
#include "train/config/train_config.h"

namespace tessera::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kTablePrefix[] = "sparse_arch.embedding_bag_collection.embedding_bags.";
constexpr char kTableSuffix[] = ".weight";

// The part of a parameter's name that is the table's, "" for other parameters.
std::string TableOf(const std::string& parameter) {
  const std::string prefix = kTablePrefix, suffix = kTableSuffix;
  if (!parameter.starts_with(prefix) || !parameter.ends_with(suffix)) return "";
  return parameter.substr(prefix.size(), parameter.size() - prefix.size() - suffix.size());
}

struct TableSummary {
  std::string name, dtype, optimizer = "?";
  int64_t rows = 0, dim = 0, bytes = 0, state_bytes = 0;
};

struct Summary {
  std::vector<TableSummary> tables;
  int64_t dense_parameters = 0, dense_bytes = 0, dense_state_bytes = 0;
  std::string dense_optimizer = "?";
};

// Bytes of the optimizer state of each parameter.
std::map<std::string, int64_t> StateBytes(const Checkpoint& checkpoint) {
  std::map<std::string, int64_t> bytes;
  const std::string prefix = kOptimizerPrefix;
  for (const auto& [name, tensor] : checkpoint.tensors) {
    if (!name.starts_with(prefix)) continue;
    bytes[name.substr(prefix.size(), name.rfind('.') - prefix.size())] += tensor.nbytes();
  }
  return bytes;
}

void AddOptimizers(const Checkpoint& checkpoint, Summary& summary) {
  if (checkpoint.config.empty()) return;
  const TrainConfig config = ParseTrainConfig(checkpoint.config, checkpoint.path);
  summary.dense_optimizer = config.dense_optimizer.name;
  for (TableSummary& table : summary.tables)
    for (const EmbeddingBagConfig& c : config.tables)
      if (c.name == table.name) table.optimizer = RuleName(c.optimizer);
}

Summary Summarize(const Checkpoint& checkpoint) {
  Summary summary;
  std::map<std::string, int64_t> state_bytes = StateBytes(checkpoint);
  for (const auto& [name, tensor] : checkpoint.tensors) {
    if (name.starts_with(kOptimizerPrefix)) continue;
    const std::string table = TableOf(name);
    if (table.empty() || tensor.shape.rank() != 2) {
      summary.dense_parameters += tensor.shape.numel();
      summary.dense_bytes += tensor.nbytes();
      summary.dense_state_bytes += state_bytes[name];
      continue;
    }
    TableSummary row{.name = table,
                     .dtype = ToString(tensor.dtype),
                     .rows = tensor.shape[0],
                     .dim = tensor.shape[1],
                     .bytes = tensor.nbytes(),
                     .state_bytes = state_bytes[name]};
    summary.tables.push_back(row);
  }
  AddOptimizers(checkpoint, summary);
  return summary;
}

std::string AsText(const Checkpoint& checkpoint, const Summary& summary) {
  std::vector<std::vector<std::string>> rows = {
      {"table", "rows", "dim", "dtype", "size", "optimizer", "its state"}};
  for (const TableSummary& t : summary.tables)
    rows.push_back({t.name, WithCommas(static_cast<double>(t.rows)), std::to_string(t.dim), t.dtype,
                    Bytes(t.bytes), t.optimizer, Bytes(t.state_bytes)});
  rows.push_back({"dense part", "", "", "", Bytes(summary.dense_bytes), summary.dense_optimizer,
                  Bytes(summary.dense_state_bytes)});
  std::string text = TextTable(rows) + "\n";
  if (!checkpoint.progress)
    return text + "weights alone: no optimizer state, no place in a training\n";
  const TrainingProgress& p = *checkpoint.progress;
  return text + Format("epochs done {}, next row {}, step {}, iter {}, seed {}\n", p.epoch, p.row,
                       p.step, p.iter, p.seed);
}

std::string AsJson(const Checkpoint& checkpoint, const Summary& summary) {
  Json json = {{"tables", Json::array()}};
  for (const TableSummary& t : summary.tables)
    json["tables"].push_back({{"name", t.name},
                              {"rows", t.rows},
                              {"dim", t.dim},
                              {"dtype", t.dtype},
                              {"bytes", t.bytes},
                              {"optimizer", t.optimizer},
                              {"optimizer_bytes", t.state_bytes}});
  json["dense"] = {{"parameters", summary.dense_parameters},
                   {"bytes", summary.dense_bytes},
                   {"optimizer", summary.dense_optimizer},
                   {"optimizer_bytes", summary.dense_state_bytes}};
  if (const auto& p = checkpoint.progress)
    json["progress"] = {{"epoch", p->epoch},
                        {"row", p->row},
                        {"step", p->step},
                        {"iter", p->iter},
                        {"seed", p->seed}};
  if (!checkpoint.config.empty()) json["config"] = Json::parse(checkpoint.config);
  return json.dump(2) + "\n";
}

int Inspect(const std::string& path, bool as_json) {
  const Checkpoint checkpoint = ReadCheckpoint(path);
  const Summary summary = Summarize(checkpoint);
  std::fputs((as_json ? AsJson(checkpoint, summary) : AsText(checkpoint, summary)).c_str(), stdout);
  return 0;
}

}  // namespace

void AddInspectCommand(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "inspect", "Show what is in a checkpoint: tables, sizes, optimizers, step.");
  const auto path = std::make_shared<std::string>();
  const auto as_json = std::make_shared<bool>(false);
  command
      ->add_option("checkpoint", *path,
                   "A safetensors file of tessera train, or of a TorchRec DLRM")
      ->required()
      ->type_name("FILE");
  command->add_flag("--json", *as_json, "Print JSON");
  command->callback([=, &action] { action = [=] { return Inspect(*path, *as_json); }; });
}

}  // namespace tessera::cli
