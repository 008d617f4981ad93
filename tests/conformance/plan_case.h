#ifndef TESSERA_TESTS_CONFORMANCE_PLAN_CASE_H_
#define TESSERA_TESTS_CONFORMANCE_PLAN_CASE_H_
// The part that the families of kind `plan` share: a case's input as the planner's types, and
// comparison with what it expects.
#include "planner/planner.h"
#include "runtime/json/json_object.h"
#include "tests/conformance/case.h"

namespace tessera::conformance {

// Thrown for an answer that is not the expected one.
class Different : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct PlanInput {
  Topology topology;
  PlannerModel model;
  PlannerOptions options;
};
PlanInput PlanInputOf(const Json& input);

ProposerSettings ProposerOf(const Json& settings);
PartitionerSettings PartitionerOf(const Json& settings);

// The table "module.name" of a model.
int TableNamed(const PlannerModel& model, const std::string& module, const std::string& name);

// Options given with prices, as the families `partition` and `propose` have them. Tables are
// numbered in the order of first appearance.
std::vector<ShardingOption> GivenOptions(const Json& options, std::vector<std::string>* tables);

// An option in the words of a case, a list entry a shard.
Json OptionJson(const PlannerModel& model, const Topology& topology, const ShardingOption& option);

// `list` with its only entry `count` times, if it has one.
Json Spread(const Json& list, int64_t count);

// Throws Different for the first difference; floats are compared within `rtol` (and `atol`).
void CompareJson(const Json& got, const Json& want, const std::string& where, double rtol = 1e-6,
                 double atol = 0);

// A plan as good as the expected one, by the rules of the cases' README, section 8.
void ComparePlan(const PlanInput& input, const PlanResult& plan, const Json& want);

// The report on a given plan.
Json StatsOf(const PlanInput& input, const Json& given_plan);

}  // namespace tessera::conformance
#endif  // TESSERA_TESTS_CONFORMANCE_PLAN_CASE_H_
