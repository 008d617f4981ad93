#include "cli/runs/run_comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "cli/runs/folded_table.h"
#include "cli/runs/short_values.h"
#include "cli/show/numbers.h"
#include "runtime/base/check.h"
#include "train/config/config_keys.h"
#include "train/evaluation_metric.h"
#include "train/task_meter.h"
#include "train/task_rows.h"

namespace tessera::cli {
namespace {

using internal::Json;

bool IsSeed(const ConfigKey& key) { return key.table.empty() && key.key == "train.seed"; }

// Everything that two runs of one group share: the configuration but for the seed, and the data.
std::vector<ConfigKey> FactsOf(const KeptRun& run) {
  std::vector<ConfigKey> facts = KeysOf(run.config);
  std::erase_if(facts, IsSeed);
  facts.push_back({"", "rows trained on", run.train_data});
  facts.push_back({"", "rows evaluated on", run.eval_data});
  facts.push_back({"", "--pipeline", run.pipeline});
  facts.push_back({"", "--wire-codecs", run.wire_codecs});
  facts.push_back({"", "--sharding-group-size", run.sharding_group_size});
  facts.push_back({"", "--sync-interval", run.sync_interval});
  return facts;
}

// Throws Error where no run has the metric.
bool IsHigherBetter(const std::vector<KeptRun>& runs, const std::string& metric) {
  if (metric == kTrainLoss) return false;
  std::vector<std::string> names;
  for (const KeptRun& run : runs)
    for (const EvaluationMetric& m :
         EvaluationMetrics(TasksOf(run.config.model, run.config.data))) {
      if (m.name == metric) return m.higher;
      if (std::ranges::count(names, m.name) == 0) names.push_back(m.name);
    }
  names.emplace_back(kTrainLoss);
  throw NoEvaluationMetric(metric, names);
}

ComparedRun Measured(KeptRun run, const std::string& metric, bool higher) {
  ComparedRun compared{.run = std::move(run), .last = kNoValue, .best = kNoValue};
  for (const CurvePoint& point : compared.run.curve) {
    compared.last = compared.run.Value(point, metric);
    if (IsBetter(compared.last, compared.best, higher)) compared.best = compared.last;
    compared.epochs = point.epochs();
  }
  // The evaluation that an epoch's line comes with may have been stopped.
  compared.epochs = std::max(compared.epochs, static_cast<double>(compared.run.epochs_at_stop));
  return compared;
}

void Group(RunComparison& comparison, std::vector<std::vector<ConfigKey>>& facts) {
  for (size_t r = 0; r < comparison.runs.size(); ++r) {
    std::vector<ConfigKey> own = FactsOf(comparison.runs[r].run);
    size_t g = 0;
    while (g < facts.size() && !Differences(facts[g], own).empty()) ++g;
    if (g == facts.size()) {
      facts.push_back(std::move(own));
      comparison.groups.emplace_back();
    }
    comparison.runs[r].group = g;
    comparison.groups[g].runs.push_back(r);
  }
}

// The mean over the seeds of a group's finished runs: runs of one seed, which repeat each other,
// count as one.
MeanValue MeanOverSeeds(const RunComparison& comparison, const RunGroup& group,
                        double ComparedRun::*value) {
  std::map<int64_t, std::vector<double>> by_seed;
  for (const size_t r : group.runs)
    if (const ComparedRun& run = comparison.runs[r]; run.run.finished)
      by_seed[run.run.config.seed].push_back(run.*value);
  std::vector<double> seeds;
  for (const auto& [seed, values] : by_seed) seeds.push_back(MeanOf(values).mean);
  return MeanOf(seeds);
}

// Gives groups their means, and the best one the first place.
void SortGroups(RunComparison& comparison, std::vector<std::vector<ConfigKey>>& facts) {
  std::vector<size_t> order;
  for (RunGroup& group : comparison.groups) {
    group.last = MeanOverSeeds(comparison, group, &ComparedRun::last);
    group.best = MeanOverSeeds(comparison, group, &ComparedRun::best);
    order.push_back(order.size());
  }
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    return IsBetter(comparison.groups[a].best.mean, comparison.groups[b].best.mean,
                    comparison.higher);
  });
  std::vector<RunGroup> groups;
  std::vector<std::vector<ConfigKey>> of_groups;
  for (const size_t g : order) {
    for (const size_t r : comparison.groups[g].runs) comparison.runs[r].group = groups.size();
    groups.push_back(std::move(comparison.groups[g]));
    of_groups.push_back(std::move(facts[g]));
  }
  comparison.groups = std::move(groups);
  facts = std::move(of_groups);
}

// "table 'a': optimizer.lr", "3 tables ('a' to 'c'): optimizer.lr".
std::string NameOfKey(const std::string& key, const std::vector<std::string>& tables) {
  if (tables.empty()) return key;
  if (tables.size() == 1) return Format("table '{}': {}", tables.front(), key);
  return Format("{} tables ('{}' to '{}'): {}", tables.size(), tables.front(), tables.back(), key);
}

// The text of the JSON of the data that a run reads: "rows 0:1000 of a.tsv, b.tsv", "all of a.tsv";
// with_content: with what tells files of one name apart. Another value is left as it is.
std::string DataText(const std::string& value, bool with_content) {
  const Json data = Json::parse(value, /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (!data.is_object() || !data.contains("rows") || !data.contains("paths")) return value;
  std::string names;
  for (const Json& path : data["paths"]) {
    names += (names.empty() ? "" : ", ") + path.value("name", "");
    if (with_content)
      names += Format(" ({} bytes, {})", path.value("bytes", int64_t{0}), path.value("head", ""));
  }
  const std::string rows = data.value("rows", "");
  return (rows == "0:" ? "all" : "rows " + rows) + (names.empty() ? "" : " of " + names);
}

// Values as people read them: data by their ranges and names, where these differ.
std::vector<std::string> ReadableValues(const std::vector<std::string>& values) {
  const std::set<std::string> all(values.begin(), values.end());
  std::set<std::string> texts;
  for (const std::string& value : all) texts.insert(DataText(value, /*with_content=*/false));
  std::vector<std::string> readable;
  for (const std::string& value : values)
    readable.push_back(DataText(value, texts.size() < all.size()));
  return readable;
}

// Keys that any two groups differ in, each with its values in all groups.
void FindSettings(RunComparison& comparison, const std::vector<std::vector<ConfigKey>>& facts) {
  using Place = std::pair<std::string, std::string>;
  std::vector<Place> places;  // in the order in which they are found
  for (const auto& own : facts)
    for (const auto& [was, is] : Differences(facts.front(), own)) {
      const Place place{was.table, was.key.substr(0, was.key.find('['))};
      if (std::ranges::count(places, place) == 0) places.push_back(place);
    }
  std::vector<std::pair<std::string, std::vector<std::string>>> keys;  // and values
  std::map<size_t, std::vector<std::string>> tables;                   // of keys
  for (const Place& place : places) {
    const std::string &table = place.first, &key = place.second;
    std::vector<std::string> values;
    for (const auto& own : facts) {
      const auto found = std::ranges::find_if(
          own, [&](const ConfigKey& k) { return k.table == table && k.key == key; });
      values.push_back(found == own.end() ? "" : found->value);
    }
    const auto same = std::ranges::find_if(keys, [&](const auto& k) {
      return !table.empty() && k.first == key && k.second == values &&
             !tables[static_cast<size_t>(&k - keys.data())].empty();
    });
    const auto at = static_cast<size_t>(same - keys.begin());
    if (same == keys.end()) keys.emplace_back(key, values);
    if (!table.empty()) tables[at].push_back(table);
  }
  for (size_t k = 0; k < keys.size(); ++k) {
    comparison.keys.push_back(NameOfKey(keys[k].first, tables[k]));
    for (size_t g = 0; g < comparison.groups.size(); ++g)
      comparison.groups[g].settings.push_back(keys[k].second[g]);
    const std::vector<std::string> shown = ShortValues(ReadableValues(keys[k].second));
    for (size_t g = 0; g < comparison.groups.size(); ++g)
      comparison.groups[g].shown.push_back(shown[g]);
  }
}

std::string MeanText(const MeanValue& value) {
  const std::string mean = Fixed(value.mean, 4);
  return std::isnan(value.standard_error) ? mean : mean + " ± " + Fixed(value.standard_error, 4);
}

Json MeanJson(const MeanValue& value) {
  return {{"mean", value.mean}, {"standard_error", value.standard_error}};
}

double Speed(const KeptRun& run) {
  return run.training_seconds > 0 ? static_cast<double>(run.timed_rows) / run.training_seconds
                                  : kNoValue;
}

Json NoteJson(const KeptRun& run) { return run.note.empty() ? Json() : Json(run.note); }

std::string EpochsText(const ComparedRun& compared) {
  const std::string trained = Format("{:.4g}", compared.epochs);
  if (!compared.run.finished) return Format("{} of {}", trained, compared.run.config.epochs);
  return compared.run.finished->stopped_early.empty() ? trained : trained + " (stopped early)";
}

}  // namespace

bool IsBetter(double value, double than, bool higher) {
  if (std::isnan(value) || std::isnan(than)) return !std::isnan(value);
  return higher ? value > than : value < than;
}

MeanValue MeanOf(const std::vector<double>& values) {
  if (values.empty()) return {kNoValue, kNoValue};
  const auto n = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  for (const double value : values) squares += (value - sum / n) * (value - sum / n);
  return {sum / n, n < 2 ? kNoValue : std::sqrt(squares / (n - 1) / n)};
}

RunComparison CompareRuns(std::vector<KeptRun> runs, const std::string& metric) {
  RunComparison comparison{.metric = metric, .keys = {}, .runs = {}, .groups = {}};
  for (const KeptRun& run : runs)
    if (comparison.metric.empty() && !run.curve.empty())
      comparison.metric = run.curve.back().metric;
  if (comparison.metric.empty()) comparison.metric = kTrainLoss;
  comparison.higher = IsHigherBetter(runs, comparison.metric);
  for (KeptRun& run : runs)
    comparison.runs.push_back(Measured(std::move(run), comparison.metric, comparison.higher));
  std::ranges::stable_sort(comparison.runs, [&](const ComparedRun& a, const ComparedRun& b) {
    return IsBetter(a.best, b.best, comparison.higher);
  });
  std::vector<std::vector<ConfigKey>> facts;
  Group(comparison, facts);
  SortGroups(comparison, facts);
  FindSettings(comparison, facts);
  return comparison;
}

std::string SettingsText(const RunComparison& comparison, const RunGroup& group) {
  std::string text;
  for (size_t k = 0; k < comparison.keys.size(); ++k) {
    const std::string& value = group.shown[k];
    text += (k == 0 ? "" : ", ") + comparison.keys[k] + "=" + (value.empty() ? "none" : value);
  }
  return text;
}

std::vector<std::vector<std::string>> RunRows(const RunComparison& comparison) {
  std::vector<std::vector<std::string>> rows = {
      {"run", "group", "seed", "last " + comparison.metric, "best " + comparison.metric, "epochs",
       "rows/s", "time"}};
  for (const ComparedRun& compared : comparison.runs)
    rows.push_back({compared.run.path, std::to_string(compared.group + 1),
                    std::to_string(compared.run.config.seed), Fixed(compared.last, 4),
                    Fixed(compared.best, 4), EpochsText(compared), WithCommas(Speed(compared.run)),
                    Duration(compared.run.seconds)});
  return rows;
}

// "3", or "2 of 3" where one is not finished, which the means leave out.
std::string FinishedText(const RunComparison& comparison, const RunGroup& group) {
  const auto finished = std::ranges::count_if(
      group.runs, [&](size_t r) { return comparison.runs[r].run.finished.has_value(); });
  const auto all = std::ssize(group.runs);
  return finished == all ? std::to_string(all) : Format("{} of {}", finished, all);
}

std::vector<std::vector<std::string>> GroupRows(const RunComparison& comparison) {
  std::vector<std::vector<std::string>> rows = {
      {"group", "runs", "last " + comparison.metric, "best " + comparison.metric}};
  rows[0].insert(rows[0].end(), comparison.keys.begin(), comparison.keys.end());
  for (const RunGroup& group : comparison.groups) {
    rows.push_back({std::to_string(rows.size()), FinishedText(comparison, group),
                    MeanText(group.last), MeanText(group.best)});
    for (const std::string& value : group.shown)
      rows.back().push_back(value.empty() ? "none" : value);
  }
  return rows;
}

std::vector<std::string> ComparisonNotes(const RunComparison& comparison) {
  std::vector<std::string> notes;
  for (const ComparedRun& compared : comparison.runs)
    if (!compared.run.note.empty()) notes.push_back("note: " + compared.run.note);
  for (const UnreadRun& run : comparison.unread)
    notes.push_back(Format("not read: {}: {}", run.path, run.why));
  return notes;
}

std::string ComparisonText(const RunComparison& comparison) {
  std::string text = TextTable(RunRows(comparison));
  if (comparison.runs.size() > 1)
    text += "\nmeans over seeds, ± their standard errors, and what differs\n" +
            FoldedTable(GroupRows(comparison));
  const std::vector<std::string> notes = ComparisonNotes(comparison);
  if (!notes.empty()) text += "\n";
  for (const std::string& note : notes) text += note + "\n";
  return text;
}

std::string ComparisonJson(const RunComparison& comparison) {
  Json json = {{"compared_by", comparison.metric},
               {"higher_is_better", comparison.higher},
               {"runs", Json::array()},
               {"groups", Json::array()}};
  for (const ComparedRun& compared : comparison.runs)
    json["runs"].push_back({{"path", compared.run.path},
                            {"group", compared.group},
                            {"seed", compared.run.config.seed},
                            {"finished", compared.run.finished.has_value()},
                            {"epochs", compared.epochs},
                            {"last", compared.last},
                            {"best", compared.best},
                            {"rows", compared.run.rows},
                            {"seconds", compared.run.seconds},
                            {"rows_per_second", Speed(compared.run)},
                            {"note", NoteJson(compared.run)}});
  for (const RunGroup& group : comparison.groups) {
    Json entry = {{"settings", Json::object()},
                  {"runs", group.runs},
                  {"last", MeanJson(group.last)},
                  {"best", MeanJson(group.best)}};
    for (size_t k = 0; k < comparison.keys.size(); ++k)
      entry["settings"][comparison.keys[k]] = group.settings[k];
    json["groups"].push_back(std::move(entry));
  }
  json["unread"] = Json::array();
  for (const UnreadRun& run : comparison.unread)
    json["unread"].push_back({{"path", run.path}, {"why", run.why}});
  return json.dump(2) + "\n";
}

}  // namespace tessera::cli
