#include "cli/plan/plan_report.h"

#include <nlohmann/json.hpp>

#include "runtime/base/check.h"

namespace tessera::cli {
namespace {

using Json = nlohmann::ordered_json;

Json RanksJson(const PlanResult& plan) {
  Json ranks = Json::array();
  for (size_t r = 0; r < plan.rank_perf.size(); ++r)
    ranks.push_back({{"ms", plan.rank_perf[r]},
                     {"hbm", plan.rank_storage[r].hbm},
                     {"ddr", plan.rank_storage[r].ddr}});
  return ranks;
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
  std::string line = Format("{:.4g} ms for tables on the busiest rank by the {} cost model; ",
                            plan.rating, cost_model);
  if (plan.proven_optimal)
    line += "no plan is better";
  else if (plan.lower_bound <= 0)
    line += "no bound was computed";
  else
    line += Format("no plan is below {:.4g} ms ({:.1f} % off)", plan.lower_bound, 100 * plan.gap());
  return line + Format("; {} options, found by {}", plan.num_options, plan.found_by);
}

std::string PlanReportJson(const PlanResult& plan, const PlanExplanation& explanation,
                           const std::string& cost_model, const PlanLoad& load) {
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
               {"ranks", RanksJson(plan)},
               {"tables", Json::array()}};
  if (load.whole_step) json["step_ms"] = load.step_ms;
  for (size_t t = 0; t < plan.tables.size(); ++t)
    json["tables"].push_back(TableJson(plan.tables[t], explanation.tables[t]));
  return json.dump(1) + "\n";
}

}  // namespace tessera::cli
