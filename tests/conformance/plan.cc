// Kind `plan`: TorchRec's planner, piece by piece and as a whole. The cases' README says what is
// compared, and how; an answer that passes is the expected one.
#include "planner/model/planner_error.h"
#include "tests/conformance/kinds.h"
#include "tests/conformance/plan_case.h"

namespace tessera::conformance {
namespace {

// Prices of options of given shapes.
Json GivenOptionPrices(const PlanInput& input, const EmbeddingEnumerator& enumerator,
                       const Json& given) {
  Json rows = Json::array();
  for (const Json& o : given) {
    const int table = TableNamed(input.model, o.at("module").get<std::string>(),
                                 o.at("table").get<std::string>());
    std::vector<Shard> shards;
    for (const Json& size : o.at("sizes"))
      shards.push_back({.rows = size[0].get<int64_t>(), .columns = size[1].get<int64_t>()});
    rows.push_back(OptionJson(
        input.model, input.topology,
        enumerator.Price(table, ParseShardingType(o.at("sharding_type").get<std::string>()),
                         ParsePlanKernel(o.at("compute_kernel").get<std::string>()), shards)));
  }
  return rows;
}

void Estimate(const Json& attrs) {
  const PlanInput input = PlanInputOf(attrs.at("input"));
  const EmbeddingShardingPlanner planner(input.topology, input.model);
  Json rows = Json::array();
  if (attrs["input"].contains("given_options")) {
    rows = GivenOptionPrices(input, planner.enumerator(), attrs["input"]["given_options"]);
  } else {
    for (const ShardingOption& option : planner.enumerator().Enumerate())
      rows.push_back(OptionJson(input.model, input.topology, option));
  }
  if (!attrs.contains("expect")) return;
  Json want = attrs["expect"].at("options");
  for (Json& row : want)
    for (const char* key : {"sizes", "offsets", "perf", "hbm", "ddr", "ssd"})
      if (row.contains(key)) row[key] = Spread(row[key], row.at("num_shards").get<int64_t>());
  CompareJson(rows, want, "options");
}

std::vector<Storage> CapacityOf(const Topology& t) {
  std::vector<Storage> capacity;
  for (int r = 0; r < t.world_size; ++r) capacity.push_back({t.hbm_of(r), t.ddr_of(r), t.ssd_cap});
  return capacity;
}

void PartitionFamily(const Json& attrs) {
  const PlanInput input = PlanInputOf(attrs.at("input"));
  const std::vector<ShardingOption> options =
      GivenOptions(attrs["input"].at("proposal"), /*tables=*/nullptr);
  Proposal proposal;
  for (const ShardingOption& option : options) proposal.push_back(&option);
  const Placement placement = Partition(PartitionerOf(attrs["input"].at("partitioner")),
                                        input.topology, CapacityOf(input.topology), proposal);
  if (placement.failed != nullptr)
    throw PlannerError(PlannerErrorKind::kPartition, "an option finds no place");
  if (!attrs.contains("expect")) return;
  const int ranks = input.topology.world_size;
  Json got = {{"ranks", placement.ranks}, {"rank_perf", RankPerf(ranks, proposal, placement)}};
  for (const Storage& rank : RankStorage(ranks, proposal, placement)) {
    got["rank_hbm"].push_back(rank.hbm);
    got["rank_ddr"].push_back(rank.ddr);
  }
  CompareJson(got, attrs["expect"], "expect");
}

void ProposeFamily(const Json& attrs) {
  const Json& input = attrs.at("input");
  const PlanInput parsed = PlanInputOf(input);
  std::vector<std::string> tables;
  const std::vector<ShardingOption> options = GivenOptions(input.at("search_space"), &tables);
  const std::vector<Storage> capacity = CapacityOf(parsed.topology);
  const auto proposer = MakeProposer(ProposerOf(input.at("proposer")), {options, capacity});
  const Json feedback = input.contains("feedback") && !input["feedback"].is_null()
                            ? input["feedback"]
                            : Json::array();
  std::vector<int> first(tables.size(), -1);  // each table's first option
  const auto number_of = [&](const ShardingOption* option) {
    int number = 0;
    for (const ShardingOption* o = options.data(); o != option; ++o)
      number += o->table == option->table;
    return number;
  };
  Json got = Json::array();
  const size_t most = attrs.at("expect").at("proposals").size() + 1;
  for (Proposal p = proposer->Next(); !p.empty() && got.size() < most; p = proposer->Next()) {
    Json row = Json::array();
    for (const Json& name : attrs["expect"].at("tables"))
      for (const ShardingOption* option : p)
        if (name == tables[static_cast<size_t>(option->table)]) row.push_back(number_of(option));
    const Json rating = feedback.empty() ? Json() : feedback[got.size() % feedback.size()];
    got.push_back(row);
    proposer->Feedback(rating.is_null() ? std::nullopt : std::optional(rating.get<double>()));
  }
  CompareJson(got, attrs["expect"].at("proposals"), "proposals");
}

void PlanFamily(const Json& attrs) {
  const PlanInput input = PlanInputOf(attrs.at("input"));
  const PlanResult plan =
      EmbeddingShardingPlanner(input.topology, input.model, input.options).Plan();
  if (attrs.contains("expect")) ComparePlan(input, plan, attrs["expect"]);
}

// Requires a plan that costs at most as much as TorchRec's, and at most a tenth more than the
// bound.
void ScaleFamily(const Json& attrs) {
  PlanInput input = PlanInputOf(attrs.at("input"));
  input.options.proposers.clear();
  const PlanResult plan =
      EmbeddingShardingPlanner(input.topology, input.model, input.options).Plan();
  const Json& want = attrs.at("expect");
  CompareJson(plan.num_options, want.at("num_options"), "num_options");
  const double most = want.at("max_rank_perf").get<double>() * (1 + 1e-6);
  if (plan.max_rank_perf > most)
    throw Different(
        Format("max_rank_perf {:.9g}, expected at most {:.9g}", plan.max_rank_perf, most));
  if (plan.max_rank_perf > 1.10 * plan.threshold_bound)
    throw Different(Format("max_rank_perf {:.9g} is {:.3f} times the bound {:.9g}",
                           plan.max_rank_perf, plan.max_rank_perf / plan.threshold_bound,
                           plan.threshold_bound));
}

void StatsFamily(const Json& attrs) {
  const PlanInput input = PlanInputOf(attrs.at("input"));
  Json want = attrs.at("expect");
  want.erase("text");
  CompareJson(StatsOf(input, attrs["input"].at("given_plan")), want, "expect", 1e-6, 1e-12);
}

void Run(const Json& attrs) {
  const auto family = attrs.at("family").get<std::string>();
  if (family == "estimate" || family == "enumerate") return Estimate(attrs);
  if (family == "partition") return PartitionFamily(attrs);
  if (family == "propose") return ProposeFamily(attrs);
  if (family == "plan") return PlanFamily(attrs);
  if (family == "scale") return ScaleFamily(attrs);
  if (family == "stats") return StatsFamily(attrs);
  throw Unsupported("family " + family);
}

}  // namespace

Answer RunPlan(Context&, const Case& c) {
  const Json error = c.attrs.contains("error") ? c.attrs["error"] : Json();
  try {
    Run(c.attrs);
  } catch (const PlannerError& e) {
    if (error.is_string() && ToString(e.kind()) != error.get<std::string>())
      throw Different(Format("error {}, expected {}: {}", e.kind(), error.get<std::string>(),
                             std::string(e.what())));
    throw;
  }
  Answer answer;
  if (c.attrs.contains("expect")) answer.expect = c.attrs["expect"];
  return answer;
}

}  // namespace tessera::conformance
