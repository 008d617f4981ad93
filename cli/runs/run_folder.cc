#include "cli/runs/run_folder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <sstream>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/files/files.h"
#include "runtime/json/json_fields.h"
#include "train/task_meter.h"
#include "train/task_rows.h"

namespace tessera::cli {
namespace {

using internal::Json;
using internal::JsonObject;

constexpr char kVersionKey[] = "tessera_run", kSaved[] = "saved";
constexpr int64_t kVersion = 1;
constexpr int64_t kAnyBytes = std::numeric_limits<int64_t>::max();  // of the lines of a long run

double NumberIn(const Json& object, const std::string& key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : kNoValue;
}

std::optional<int64_t> IntegerIn(const Json& object, const std::string& key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return {};
  return found->get<int64_t>();
}

// "" where it is no word.
std::string WordIn(const Json& object, const std::string& key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// The value as JSON; null where there is none.
std::string TextIn(const Json& object, const std::string& key) {
  const auto found = object.find(key);
  return found == object.end() ? "null" : found->dump();
}

std::optional<CurvePoint> PointOf(const std::string& line) {
  Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  const auto epoch = IntegerIn(json, "epoch"), step = IntegerIn(json, "step");
  const double fraction = NumberIn(json, "epoch_fraction");
  std::string metric = WordIn(json, "metric");
  if (!epoch || !step || metric.empty()) return {};
  CurvePoint point{.epoch = *epoch, .step = *step, .metric = std::move(metric)};
  if (!std::isnan(fraction)) point.fraction = fraction;
  point.values = std::move(json);
  return point;
}

// A side of a start's data.
void CheckRows(const Json& value, const std::string& where) {
  JsonObject rows(value, where);
  std::string range;
  rows.Required("rows", range);
  internal::ForEachElement(
      rows, "paths", [](const Json& path, const std::string& place) { JsonObject(path, place); });
}

// The epochs that were trained where a start was stopped; 0 for one that was not.
int64_t EpochsAtStop(JsonObject& start) {
  int64_t epochs = 0;
  if (const Json* const found = internal::FindField(start, "stopped"))
    JsonObject(*found, start.at("stopped")).Required("epochs", epochs);
  return epochs;
}

void CheckDiffers(const Json& value, const std::string& where) {
  JsonObject differs(value, where);
  int64_t step = 0;
  std::vector<std::string> keys;
  differs.Required("step", step);
  differs.Required("keys", keys);
}

// The parts of a start that are read again.
void CheckStart(const Json& value, const std::string& where) {
  JsonObject start(value, where);
  KeptRun run;
  start.Optional("rows", run.timed_rows);
  start.Optional("seconds", run.seconds);
  start.Optional("training_seconds", run.training_seconds);
  EpochsAtStop(start);
  if (const Json* const list = internal::FindList(start, "differs"))
    internal::ForEachElement(*list, start.at("differs"), CheckDiffers);
  const Json* const found = internal::FindField(start, "data");
  if (found == nullptr) return;
  JsonObject data(*found, start.at("data"));
  for (const char* side : {"train", "eval"})
    if (const Json* rows = internal::FindField(data, side)) CheckRows(*rows, data.at(side));
}

void AddDifferingNumbers(const Json& a, const Json& b, const std::string& path,
                         std::vector<std::string>& keys) {
  const auto is_number = [](const Json& value) { return value.is_number() || value.is_null(); };
  for (const auto& [key, value] : a.items()) {
    const auto other = b.find(key);
    if (other == b.end()) continue;
    if (value.is_object() && other->is_object())
      AddDifferingNumbers(value, *other, path + key + ".", keys);
    else if (is_number(value) && is_number(*other) && value != *other)
      keys.push_back(path + key);
  }
}

// "start 2 has evaluated step 40 to other numbers than a start before it (auc, log_loss)".
void AddRepeats(const Json& start, size_t number, std::vector<std::string>& repeats) {
  if (!start.contains("differs")) return;
  for (const Json& differs : start.at("differs")) {
    std::string keys;
    for (const Json& key : differs.at("keys"))
      keys += (keys.empty() ? "" : ", ") + key.get<std::string>();
    repeats.push_back(
        Format("start {} has evaluated step {} to other numbers than a start before "
               "it ({})",
               number, differs.at("step").get<int64_t>(), keys));
  }
}

// An evaluation that is made up for after a resume saw no step before it.
void Put(CurvePoint point, std::map<int64_t, CurvePoint>& points) {
  const auto before = points.find(point.step);
  if (before != points.end() && std::isnan(NumberIn(point.values, kTrainLoss)))
    point.values[kTrainLoss] = before->second.values[kTrainLoss];
  points[point.step] = std::move(point);
}

// The rows that loss.json counts; absent where there is none, or a damaged one.
std::optional<int64_t> CountedRows(const std::string& folder) {
  const std::string path = PathIn(folder, kRunLoss);
  if (!IsThere(path)) return {};
  return IntegerIn(Json::parse(ReadTextFile(path), nullptr, /*allow_exceptions=*/false), kRunRows);
}

// The lines of metrics.jsonl that KeepLinesUpTo keeps.
std::string KeptMetrics(const std::string& text, int64_t last_step) {
  std::vector<std::string> kept;
  std::map<std::pair<int64_t, std::string>, size_t> places;  // of steps and phases, in `kept`
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    const auto step = IntegerIn(json, "step");
    if (!step || *step > last_step) continue;
    const auto [place, is_new] = places.insert({{*step, WordIn(json, "phase")}, kept.size()});
    if (is_new)
      kept.push_back(line);
    else
      kept[place->second] = line;
  }
  std::string all;
  for (const std::string& line : kept) all += line + "\n";
  return all;
}

}  // namespace

bool IsRunFolder(const std::string& folder) { return IsThere(PathIn(folder, kRunDocument)); }

void CheckRunFolder(const std::string& folder) {
  if (IsRunFolder(folder)) return;
  throw Error(Format("{}: it is no folder of tessera train --run: there is no {} in it", folder,
                     kRunDocument));
}

std::string CheckpointName(const std::string& which, bool is_folder) {
  return is_folder ? which : which + ".safetensors";
}

Json NewRunDocument() { return {{kVersionKey, kVersion}, {"starts", Json::array()}}; }

Json ReadRunDocument(const std::string& folder) {
  if (!IsRunFolder(folder)) return NewRunDocument();
  const std::string path = PathIn(folder, kRunDocument);
  return internal::ReadDocument(ReadTextFile(path), path, [](Json json) {
    JsonObject document(json, "");
    internal::CheckVersion(document, kVersionKey, kVersion);
    internal::ForEachElement(document, "starts", CheckStart);
    std::vector<std::string> saved;
    document.Optional(kSaved, saved);
    FinishOf(json);
    return json;
  });
}

void WriteRunDocument(const std::string& folder, const Json& document) {
  ReplaceTextFile(PathIn(folder, kRunDocument), document.dump(2) + "\n");
}

std::optional<RunFinish> FinishOf(const Json& document) {
  JsonObject run(document, "");
  const Json* const found = internal::FindField(run, "finished");
  if (found == nullptr) return {};
  JsonObject object(*found, "finished");
  RunFinish finish;
  object.Required("epochs", finish.epochs);
  object.Optional("stopped_early", finish.stopped_early);
  return finish;
}

bool HasBegun(const std::string& folder) {
  return IsThere(PathIn(folder, kRunConfig)) || !ReadRunDocument(folder).at("starts").empty();
}

std::string MissingFileText(const std::string& folder) {
  if (!IsRunFolder(folder)) return Format("there is no {} in it", kRunDocument);
  if (IsThere(PathIn(folder, kRunConfig))) return "";
  const Json document = ReadRunDocument(folder);
  if (!document.at("starts").empty())
    return Format("there is no {} in it, which its first step has written", kRunConfig);
  JsonObject run(document, "");
  const Json* const found = internal::FindField(run, kRunFailed);
  if (found == nullptr)
    return Format("there is no {} in it: no start has come to its first step", kRunConfig);
  JsonObject failed(*found, kRunFailed);
  std::string error;
  failed.Required(kRunError, error);
  return Format("it failed before its first step: {}", error);
}

bool HasFailed(const std::string& folder) {
  return !IsThere(PathIn(folder, kRunConfig)) && ReadRunDocument(folder).contains(kRunFailed);
}

bool HasSaved(const Json& document, const std::string& which) {
  const auto saved = document.find(kSaved);
  if (saved != document.end() && std::ranges::count(*saved, Json(which)) > 0) return true;
  if (which != "last") return false;
  if (FinishOf(document)) return true;
  return std::ranges::any_of(document.at("starts"), [](const Json& start) {
    return start.value("rows", int64_t{0}) > 0;  // said by a start that saved at its end
  });
}

bool NoteSaved(Json& document, const std::string& which) {
  Json& saved = document[kSaved];
  if (std::ranges::count(saved, Json(which)) > 0) return false;
  saved.push_back(which);
  return true;
}

std::vector<std::string> DifferingNumbers(const Json& a, const Json& b) {
  std::vector<std::string> keys;
  AddDifferingNumbers(a, b, "", keys);
  return keys;
}

double KeptRun::Value(const CurvePoint& point, const std::string& metric) const {
  const double value = point.Value(metric);
  if (!std::isnan(value) || metric == kTrainLoss) return value;
  const std::vector<TrainTask> tasks = TasksOf(config.model, config.data);
  const std::string of_first = "-" + tasks.front().task.name;
  if (!metric.ends_with(of_first)) return point.Value(metric + of_first);
  if (tasks.size() > 1) return kNoValue;
  return point.Value(metric.substr(0, metric.size() - of_first.size()));
}

double CurvePoint::Value(const std::string& name) const {
  if (name == metric) return NumberIn(values, "value");
  if (values.contains(name)) return NumberIn(values, name);
  const size_t dash = name.find('-');
  const auto tasks = values.find("tasks");
  if (dash == std::string::npos || tasks == values.end()) return kNoValue;
  const auto task = tasks->find(name.substr(dash + 1));
  return task == tasks->end() ? kNoValue : NumberIn(*task, name.substr(0, dash));
}

std::vector<CurvePoint> ReadCurve(const std::string& folder, std::optional<int64_t> last_step,
                                  int64_t* cut_line) {
  const std::string path = PathIn(folder, kRunCurve);
  if (!IsThere(path)) return {};
  std::map<int64_t, CurvePoint> points;
  std::istringstream lines(ReadTextFile(path, kAnyBytes));
  int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    auto point = PointOf(line);
    if (!point && cut_line != nullptr && *cut_line == 0) *cut_line = number;
    if (point && (!last_step || point->step <= *last_step)) Put(std::move(*point), points);
  }
  std::vector<CurvePoint> curve;
  for (auto& [step, point] : points) curve.push_back(std::move(point));
  return curve;
}

void KeepLinesUpTo(const std::string& folder, int64_t last_step) {
  std::string curve;
  for (const CurvePoint& point : ReadCurve(folder, last_step)) curve += point.values.dump() + "\n";
  ReplaceTextFile(PathIn(folder, kRunCurve), curve);
  const std::string metrics = PathIn(folder, kRunMetrics);
  if (IsThere(metrics))
    ReplaceTextFile(metrics, KeptMetrics(ReadTextFile(metrics, kAnyBytes), last_step));
}

KeptRun ReadKeptRun(const std::string& folder) {
  CheckRunFolder(folder);
  const Json document = ReadRunDocument(folder);
  size_t number = 0;  // of a start
  KeptRun run{.path = folder,
              .config = ReadTrainConfig(PathIn(folder, kRunConfig)),
              .finished = FinishOf(document)};
  run.curve = ReadCurve(folder, std::nullopt, &run.cut_line);
  for (const Json& start : document.at("starts")) {
    AddRepeats(start, ++number, run.repeats);
    JsonObject of_stop(start, "");
    run.epochs_at_stop = std::max(run.epochs_at_stop, EpochsAtStop(of_stop));
    const Json data = start.contains("data") ? start.at("data") : Json();
    run.train_data = TextIn(data, "train");
    run.eval_data = TextIn(data, "eval");
    run.pipeline = TextIn(start, "pipeline");
    run.wire_codecs = TextIn(start, "wire_codecs");
    run.sharding_group_size = TextIn(start, "sharding_group_size");
    run.sync_interval = TextIn(start, "sync_interval");
    if (!start.contains("rows")) continue;
    run.timed_rows += start.value("rows", int64_t{0});
    run.seconds += start.value("seconds", 0.0);
    run.training_seconds += start.value("training_seconds", 0.0);
  }
  run.rows = CountedRows(folder).value_or(run.timed_rows);
  return run;
}

}  // namespace tessera::cli
