#include <algorithm>
#include <cmath>
#include <map>

#include "tests/conformance/plan_case.h"

namespace tessera::conformance {
namespace {

constexpr double kRatingTolerance = 1e-6, kLoadFactorTolerance = 1e-3;

bool Close(double a, double b, double rtol) { return std::abs(a - b) <= rtol * std::abs(b); }

void Require(bool holds, const std::string& what) {
  if (!holds) throw Different(what);
}

// Requires that each rank is within its capacity.
void CheckMemory(const PlanResult& plan) {
  for (size_t r = 0; r < plan.rank_storage.size(); ++r)
    Require(plan.rank_storage[r].FitsIn(plan.reserved.capacity[r]),
            Format("rank {}: {} of {}", r, plan.rank_storage[r], plan.reserved.capacity[r]));
}

// Requires that every option is one that the enumerator lists, but for its cache, which scale-up
// changes.
void CheckOptions(const EmbeddingShardingPlanner& planner, const PlanResult& plan) {
  const std::vector<ShardingOption> options = planner.enumerator().Enumerate();
  Require(plan.num_options == static_cast<int64_t>(options.size()), "num_options");
  for (const PlacedOption& placed : plan.tables) {
    const auto listed = [&](const ShardingOption& o) {
      return o.table == placed.option.table && o.type == placed.option.type &&
             o.num_shards() == static_cast<int64_t>(placed.ranks.size());
    };
    Require(std::any_of(options.begin(), options.end(), listed), "an option that is not listed");
  }
}

Json CapacityJson(const std::vector<Storage>& capacity, int64_t Storage::*memory, size_t count) {
  Json list = Json::array();
  for (size_t r = 0; r < count; ++r) list.push_back(capacity[r].*memory);
  return list;
}

// The type by which options are compared: a table on one rank is table-wise under any name.
std::string TypeName(const std::string& type, size_t shards) {
  return shards == 1 && (type == "column_wise" || type == "table_column_wise") ? "table_wise"
                                                                               : type;
}

void CompareTable(const PlacedOption& got, const Json& want, bool with_ranks) {
  const auto where = want.at("table").get<std::string>();
  const Json sizes = Spread(want.at("sizes"), static_cast<int64_t>(got.ranks.size()));
  Require(TypeName(ToString(got.option.type), got.ranks.size()) ==
              TypeName(want.at("sharding_type").get<std::string>(), sizes.size()),
          where + ": sharding type " + ToString(got.option.type));
  Require(ToString(got.option.kernel) == want.at("compute_kernel").get<std::string>(),
          where + ": kernel " + ToString(got.option.kernel));
  Json got_sizes = Json::array();
  got.option.ForEachShard([&](int64_t, const ShardRun& run) {
    got_sizes.push_back({run.rows, run.columns});
  });
  CompareJson(got_sizes, sizes, where + ".sizes");
  if (want.contains("cache_load_factor") && !want.at("cache_load_factor").is_null())
    Require(Close(got.option.cache_load_factor.value_or(0),
                  want.at("cache_load_factor").get<double>(), kLoadFactorTolerance),
            where + ": cache_load_factor");
  if (!with_ranks) return;
  if (want.at("ranks") == "all") {
    for (size_t i = 0; i < got.ranks.size(); ++i)
      Require(got.ranks[i] == static_cast<int>(i), where + ": ranks");
  } else {
    CompareJson(got.ranks, want.at("ranks"), where + ".ranks");
  }
}

}  // namespace

void ComparePlan(const PlanInput& input, const PlanResult& plan, const Json& want) {
  const EmbeddingShardingPlanner planner(input.topology, input.model, input.options);
  CheckMemory(plan);
  CheckOptions(planner, plan);
  const Json& capacity = want.at("capacity");
  CompareJson(CapacityJson(plan.reserved.capacity, &Storage::hbm, capacity["hbm"].size()),
              capacity["hbm"], "capacity.hbm");
  CompareJson(CapacityJson(plan.reserved.capacity, &Storage::ddr, capacity["ddr"].size()),
              capacity["ddr"], "capacity.ddr");
  const double rating = want.at("rating").get<double>();
  Require(plan.rating <= rating * (1 + kRatingTolerance),
          Format("rating {:.12g}, expected at most {:.12g}", plan.rating, rating));
  Require(plan.num_proposals == want.at("num_proposals").get<int64_t>() &&
              plan.num_plans == want.at("num_plans").get<int64_t>(),
          Format("{} proposals and {} plans, expected {} and {}", plan.num_proposals,
                 plan.num_plans, want.at("num_proposals").dump(), want.at("num_plans").dump()));
  if (!Close(plan.rating, rating, kRatingTolerance) || !want.at("unique_best").get<bool>()) return;
  std::map<std::string, const PlacedOption*> by_name;
  for (const PlacedOption& placed : plan.tables)
    by_name[input.model.full_name(input.model.tables[static_cast<size_t>(placed.option.table)])] =
        &placed;
  for (const Json& row : want.at("plan")) {
    const std::string name =
        row.at("module").get<std::string>() + "." + row.at("table").get<std::string>();
    Require(by_name.contains(name), name + " is not in the plan");
    CompareTable(*by_name[name], row, want.at("placement_exact").get<bool>());
  }
}

}  // namespace tessera::conformance
