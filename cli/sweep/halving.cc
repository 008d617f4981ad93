#include "cli/sweep/halving.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "cli/runs/run_comparison.h"
#include "cli/runs/run_folder.h"
#include "runtime/base/check.h"
#include "runtime/files/files.h"
#include "runtime/json/json_object.h"

namespace tessera::cli {
namespace {

using internal::Json;
using internal::JsonObject;

// The settings of a rung's trials, the best mean over seeds first.
std::vector<size_t> SettingsByRank(const std::string& folder, const SweepPlan& plan,
                                   const Rung& rung, const std::string& metric) {
  std::vector<KeptRun> runs;
  for (const size_t t : rung.trials)
    runs.push_back(ReadKeptRun(PathIn(folder, plan.trials[t].name)));
  const RunComparison comparison = CompareRuns(std::move(runs), metric);
  std::map<size_t, std::vector<double>> values;  // by settings
  for (const size_t t : rung.trials)
    for (const ComparedRun& compared : comparison.runs)
      if (compared.run.path == PathIn(folder, plan.trials[t].name))
        values[plan.trials[t].setting].push_back(compared.best);
  std::vector<size_t> settings;
  for (const auto& [setting, of_seeds] : values) settings.push_back(setting);
  std::ranges::stable_sort(settings, [&](size_t a, size_t b) {
    return IsBetter(MeanOf(values[a]).mean, MeanOf(values[b]).mean, comparison.higher);
  });
  if (std::isnan(MeanOf(values[settings.front()]).mean))
    throw Error(Format("{}: no trial has a value of {}, so --halving has nothing to go by", folder,
                       comparison.metric));
  return settings;
}

void KeepRung(const std::string& folder, SweepPlan& plan, const Rung& rung) {
  plan.document["rungs"].push_back({{"epochs", *rung.epochs}, {"trials", rung.trials}});
  WriteSweepDocument(folder, plan);
}

// The trials of a rung, of so many.
std::vector<size_t> TrialsIn(JsonObject& rung, int64_t count) {
  std::vector<int64_t> numbers;
  rung.Required("trials", numbers);
  std::vector<size_t> trials;
  for (const int64_t t : numbers) {
    if (t < 0 || t >= count)
      throw Error(
          Format("{}: expected trials from 0 to {}, got {}", rung.at("trials"), count - 1, t));
    trials.push_back(static_cast<size_t>(t));
  }
  return trials;
}

}  // namespace

Rung RungToTrain(const std::string& folder, const SweepPlan& plan) {
  Rung rung;
  if (!plan.halving) {
    rung.trials.resize(plan.trials.size());
    std::iota(rung.trials.begin(), rung.trials.end(), size_t{0});
    return rung;
  }
  try {
    const Json& rungs = JsonObject(plan.document, "").Require("rungs");
    const int64_t last = std::ssize(rungs) - 1;
    JsonObject object(rungs.back(), Format("rungs[{}]", last));
    object.Required("epochs", rung.epochs.emplace());
    rung.trials = TrialsIn(object, std::ssize(plan.trials));
    return rung;
  } catch (const Error& error) {
    throw Error(Format("{}: {}", PathIn(folder, kSweepDocument), error.what()));
  }
}

std::optional<Rung> NextRung(const std::string& folder, SweepPlan& plan, const Rung& rung,
                             const std::string& metric) {
  if (!plan.halving || *rung.epochs >= plan.halving->last) return {};
  std::vector<size_t> settings = SettingsByRank(folder, plan, rung, metric);
  const auto eta = static_cast<size_t>(plan.halving->eta);
  settings.resize((settings.size() + eta - 1) / eta);
  Rung next{.epochs = std::min(*rung.epochs * plan.halving->eta, plan.halving->last), .trials = {}};
  for (const size_t t : rung.trials)
    if (std::ranges::count(settings, plan.trials[t].setting) > 0) next.trials.push_back(t);
  KeepRung(folder, plan, next);
  return next;
}

}  // namespace tessera::cli
