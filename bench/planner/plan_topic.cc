#include "bench/planner/plan_topic.h"

#include <cmath>
#include <memory>
#include <random>

#include "planner/model/shipped_topologies.h"
#include "planner/planner.h"
#include "runtime/base/check.h"
#include "runtime/context.h"

namespace tessera::bench {
namespace {

PlannerModel PowerLaw(int tables) {
  constexpr double kMaxRows = 4e7, kExponent = 0.9;
  std::mt19937_64 random(5);
  PlannerModel model;
  model.modules = {{.path = "sparse"}};
  for (int t = 0; t < tables; ++t) {
    const std::string name = "t" + std::to_string(t);
    const auto rows = static_cast<int64_t>(kMaxRows / std::pow(t + 1, kExponent)) + 100;
    model.tables.push_back({.name = name,
                            .rows = rows,
                            .dim = int64_t{64} << (random() % 3),
                            .features = {"f" + std::to_string(t)},
                            .optimizer = "rowwise_adagrad"});
    model.constraints[name].pooling_factors = {static_cast<double>(1 + random() % 50)};
  }
  return model;
}

void CheckRanks(const std::string& text) {
  constexpr int64_t kNode = 8;
  WholeFrom(1, 1'000'000)(text);
  if (const int64_t ranks = ParseWhole(text); ranks > kNode && ranks % kNode != 0)
    throw Error(Format("expected at most {0} GPUs, or whole nodes of {0}, got '{1}'", kNode, text));
}

Work MakeWork(Context&, const Point& point) {
  const auto planner = std::make_shared<const EmbeddingShardingPlanner>(
      ShippedTopology("h100", static_cast<int>(point.Int("ranks"))),
      PowerLaw(static_cast<int>(point.Int("tables"))),
      PlannerOptions{.option_rules = OptionRules::kBuild});
  const auto plan = std::make_shared<PlanResult>();
  Work work;
  work.check = [=] {
    *plan = planner->Plan();
    TESSERA_CHECK_EQ(std::ssize(plan->tables), std::ssize(planner->model().tables),
                     "tables that were placed");
    TESSERA_CHECK(plan->rating >= plan->threshold_bound, "a plan of {} below its bound {}",
                  plan->rating, plan->threshold_bound);
  };
  work.contenders = {{"tessera", [=](int) { *plan = planner->Plan(); }}};
  work.items = point.Int("tables");
  work.item = "tables";
  work.facts_after = [=] {
    return std::vector<std::pair<std::string, double>>{
        {"options", static_cast<double>(plan->num_options)},
        {"step_ms", plan->rating},
        {"over_threshold_bound", plan->rating / plan->threshold_bound}};
  };
  return work;
}

Point Size(const std::string& tables, const std::string& ranks) {
  return Point(tables + "x" + ranks, {{"tables", tables}, {"ranks", ranks}});
}

}  // namespace

const Topic& PlanTopic() {
  static const Topic topic = {
      .name = "plan",
      .help = "Sharding plans for H100 nodes, by tables and ranks.",
      .limit = "",
      .axes = {{"tables", {"200"}, "tables of the model", WholeFrom(1, 1'000'000)},
               {"ranks", {"64"}, "GPUs, 8 a node", CheckRanks},
               {"threads", {"1"}, "of the planner", WholeFrom(1, 1)}},
      .suites = {{"growth",
                  "from 50 tables on 16 ranks to 6400 on 2048: minutes",
                  {Size("50", "16"), Size("200", "64"), Size("1000", "128"), Size("3000", "512"),
                   Size("6400", "2048")}}},
      .make = MakeWork,
      .cold = false};
  return topic;
}

}  // namespace tessera::bench
