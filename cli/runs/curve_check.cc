#include "cli/runs/curve_check.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/files/files.h"
#include "runtime/json/json_fields.h"

namespace tessera::cli {
namespace {

using internal::Json;
using internal::JsonObject;

// A line that the curve has to have: an evaluation, or without them an epoch.
struct Expected {
  std::string name;   // "step 79", "epoch 1"
  int64_t place = 0;  // the step, or the epoch
  Json values;
};

std::vector<Expected> ExpectedOf(const Json& result, bool of_epochs) {
  JsonObject report(result, "");
  const char* const list = of_epochs ? "epochs" : "evaluations";
  const char* const key = of_epochs ? "epoch" : "step";
  std::vector<Expected> expected;
  if (const Json* const entries = internal::FindList(report, list))
    internal::ForEachElement(*entries, list, [&](const Json& value, const std::string& where) {
      JsonObject entry(value, where);
      int64_t place = 0;
      entry.Required(key, place);
      expected.push_back({Format("{} {}", key, place), place, value});
    });
  return expected;
}

// Whether the two have other values of a metric.
bool Differ(const CurvePoint& point, const CurvePoint& reported, const std::string& metric) {
  const double has = point.Value(metric), should = reported.Value(metric);
  return !std::isnan(has) && !std::isnan(should) && has != should;
}

// The keys under which the point has other numbers than the report.
std::vector<std::string> DifferingKeys(const CurvePoint& point, const Json& values) {
  std::vector<std::string> keys = DifferingNumbers(values, point.values);
  const CurvePoint reported{.metric = {}, .values = values};
  if (keys.empty() && Differ(point, reported, point.metric)) keys.emplace_back("value");
  return keys;
}

std::string NamesOf(const std::vector<std::string>& names) {
  constexpr size_t kShown = 3;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i)
    text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kShown ? Format("{}, … ({} in all)", text, names.size()) : text;
}

// Says where the curve has not the best value of all that the result tells; "" where it has. A run
// that went on from another training's checkpoint may have that one's.
std::string BestNote(const KeptRun& run, const Json& result) {
  JsonObject report(result, "");
  const Json* const found = internal::FindField(report, "best");
  if (found == nullptr || run.curve.empty()) return "";
  JsonObject best(*found, "best");
  std::string metric;
  double value = 0;
  int64_t step = 0;
  best.Required("metric", metric);
  best.Required("value", value);
  best.Required("step", step);
  const auto point = std::ranges::find(run.curve, step, &CurvePoint::step);
  if (point == run.curve.end() && step < run.curve.front().step) return "";
  std::string has = "no such step";
  if (point != run.curve.end()) {
    const double there = run.Value(*point, metric);
    if (there == value) return "";
    has = std::isnan(there) ? "none there" : Format("{} there", there);
  }
  return Format("{} says that the best {} is {}, of step {}, but {} has {}",
                PathIn(run.path, kRunResult), metric, value, step, PathIn(run.path, kRunCurve),
                has);
}

std::string NoteOf(const KeptRun& run, const Json& result) {
  const bool of_epochs = !JsonObject(result, "").Has("evaluations");
  std::vector<std::string> absent, other;
  for (const Expected& expected : ExpectedOf(result, of_epochs)) {
    const auto point = std::ranges::find_if(run.curve, [&](const CurvePoint& p) {
      return (of_epochs ? p.epoch : p.step) == expected.place;
    });
    if (point == run.curve.end())
      absent.push_back(expected.name);
    else if (const auto keys = DifferingKeys(*point, expected.values); !keys.empty())
      other.push_back(Format("{} ({})", expected.name, NamesOf(keys)));
  }
  const std::string path = PathIn(run.path, kRunCurve);
  if (!absent.empty())
    return Format(
        "{} was cut: it lacks {}, which {} has; the figures of this run are of what is left", path,
        NamesOf(absent), kRunResult);
  if (!other.empty())
    return Format("{} was changed: it has other values than {} at {}", path, kRunResult,
                  NamesOf(other));
  return BestNote(run, result);
}

std::string ResultNote(const KeptRun& run) {
  const std::string path = PathIn(run.path, kRunResult);
  if (!run.finished) return "";
  if (!IsThere(path))
    return Format("{} is missing, which a finished run has: its curve is held against no result",
                  path);
  try {
    return internal::ReadDocument(ReadTextFile(path), path,
                                  [&](const Json& result) { return NoteOf(run, result); });
  } catch (const Error& error) {
    return Format("the curve is held against no result: {}", error.what());
  }
}

std::string CutLineNote(const KeptRun& run) {
  if (run.cut_line == 0) return "";
  return Format("line {} of {} was cut off, and is left out", run.cut_line,
                PathIn(run.path, kRunCurve));
}

}  // namespace

std::string CurveNote(const KeptRun& run) {
  std::string notes;
  const auto add = [&](const std::string& note) {
    if (!note.empty()) notes += (notes.empty() ? "" : "; ") + note;
  };
  for (const std::string& repeat : run.repeats) add(Format("{}: {}", run.path, repeat));
  add(CutLineNote(run));
  add(ResultNote(run));
  return notes;
}

}  // namespace tessera::cli
