#include "cli/plan/plan_report.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "cli/plan/plan_validate.h"
#include "runtime/base/check.h"

namespace tessera::cli {
namespace {

using Json = nlohmann::ordered_json;

Json RanksJson(const PlanStats& stats) {
  Json ranks = Json::array();
  for (const RankStats& rank : stats.ranks)
    ranks.push_back(
        {{"ms", rank.perf_total}, {"hbm", rank.hbm}, {"ddr", rank.ddr}, {"ssd", rank.ssd}});
  return ranks;
}

// Milliseconds of a step's parts on its busiest rank.
Json PartsJson(const RankSeconds& seconds) {
  Json json;
  for (const auto& [name, part] : PartsOf(seconds)) json[name] = 1e3 * part;
  return json;
}

// A part of what each rank uses.
Json PartJson(const Storage& part) { return {{"hbm", part.hbm}, {"ddr", part.ddr}}; }

Json PhasesJson(const PlanTime& time) {
  Json json;
  for (size_t p = 0; p < time.phases.size(); ++p) json[kPhaseNames[p]] = 1e3 * time.phases[p];
  return json;
}

Json ValidationJson(const std::vector<ValidatedPlan>& validated) {
  Json plans = Json::array();
  for (const ValidatedPlan& plan : validated)
    plans.push_back({{"plan", plan.name},
                     {"predicted_ms", 1e3 * plan.predicted.seconds},
                     {"simulated_ms", 1e3 * plan.simulated},
                     {"measured_ms", 1e3 * plan.measured.seconds},
                     {"predicted_parts_ms", PartsJson(plan.predicted.ranks.at(
                                                static_cast<size_t>(plan.predicted.busiest)))},
                     {"measured_parts_ms", PhasesJson(plan.measured)}});
  const Agreement agreement = ComputeAgreement(validated);
  return {{"plans", std::move(plans)},
          {"spearman", PredictionsDiffer(validated) ? Json(agreement.spearman) : Json()},
          {"median_error", agreement.median_error}};
}

Json SimulationJson(const std::vector<SimulatedPlan>& simulated) {
  Json plans = Json::array();
  for (const auto& [name, steps] : simulated)
    plans.push_back({{"name", name},
                     {"mean_ms", 1e3 * steps.mean},
                     {"p50_ms", 1e3 * steps.p50},
                     {"p99_ms", 1e3 * steps.p99},
                     {"at_work", steps.working},
                     {"waiting_for_ranks", steps.waiting},
                     {"exchanging", steps.exchanging}});
  return plans;
}

Json TableJson(const PlacedOption& placed, const TableExplanation& explanation) {
  Json json = {{"table", explanation.table},
               {"sharding_type", ToString(placed.option.type)},
               {"compute_kernel", ToString(placed.option.kernel)},
               {"ranks", placed.ranks},
               {"ms", explanation.total_perf},
               {"options", explanation.num_options}};
  if (const auto& other = explanation.runner_up)
    json["runner_up"] = {{"sharding_type", ToString(other->type)},
                         {"compute_kernel", ToString(other->kernel)},
                         {"ms", other->total_perf},
                         {"plan_ms", other->rating}};
  return json;
}

}  // namespace

std::string PlanLine(const PlanResult& plan, const std::string& cost_model) {
  std::string line =
      Format("{:.4g} ms for tables {} by the {} cost model; ", plan.rating,
             plan.rated_by_node ? "of the busiest node over its cores" : "on the busiest rank",
             cost_model);
  if (plan.proven_optimal)
    line += "no plan is better";
  else if (plan.lower_bound <= 0)
    line += "no bound was computed";
  else
    line += Format("no plan is below {:.4g} ms ({:.1f} % off)", plan.lower_bound, 100 * plan.gap());
  return line + Format("; {} options, found by {}", plan.num_options, plan.found_by);
}

std::string PlanReportJson(const PlanResult& plan, const PlanExplanation& explanation,
                           const std::string& cost_model, const PlanLoad& load,
                           const std::vector<ValidatedPlan>& validated,
                           const std::vector<SimulatedPlan>& simulated) {
  Json json = {{"cost_model", cost_model},
               {"max_rank_perf_ms", plan.max_rank_perf},
               {"rating", plan.rating},
               {"threshold_bound", plan.threshold_bound},
               {"lower_bound", plan.lower_bound},
               {"gap", plan.gap()},
               {"proven_optimal", plan.proven_optimal},
               {"found_by", plan.found_by},
               {"options", plan.num_options},
               {"bottleneck",
                {{"rank", explanation.bottleneck_rank},
                 {"ms", explanation.bottleneck_perf},
                 {"limited_by", explanation.limited_by},
                 {"limited_by_ms", explanation.limited_by_perf},
                 {"memory_share", explanation.bottleneck_memory_share}}},
               {"ranks", RanksJson(load.stats)},
               {"dense", PartJson(load.stats.dense)},
               {"batches", PartJson(load.stats.kjt)},
               {"tables", Json::array()}};
  if (load.whole_step) json["step_ms"] = load.step_ms;
  if (!validated.empty()) json["validation"] = ValidationJson(validated);
  if (!simulated.empty()) json["simulation"] = SimulationJson(simulated);
  for (size_t t = 0; t < plan.tables.size(); ++t)
    json["tables"].push_back(TableJson(plan.tables[t], explanation.tables[t]));
  return json.dump(1) + "\n";
}

}  // namespace tessera::cli
