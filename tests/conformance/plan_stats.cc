#include <numeric>

#include "planner/stats.h"
#include "tests/conformance/plan_case.h"

namespace tessera::conformance {
namespace {

const char* ShortName(ShardingType type) {
  static constexpr const char* kNames[] = {"DP", "TW", "CW", "RW", "TWRW", "TWCW", "GS"};
  return kNames[static_cast<int>(type)];
}

double Megabytes(int64_t bytes) { return static_cast<double>(bytes) / 1048576.0; }

Json MemoryJson(const Storage& s) { return {{"hbm", s.hbm}, {"ddr", s.ddr}}; }

Json RankJson(const PlanStats& stats, size_t r) {
  const RankStats& s = stats.ranks[r];
  Json shards = Json::object();
  for (const auto& [type, count] : s.shards) shards[ShortName(type)] = count;
  const ShardPerf& p = s.perf;
  return {
      {"rank", r},
      {"shards", shards},
      {"input_mb", Megabytes(s.input_bytes)},
      {"output_mb", Megabytes(s.output_bytes)},
      {"hbm", s.hbm},
      {"sparse_hbm", s.sparse_hbm},
      {"ddr", s.ddr},
      {"perf_total", s.perf_total},
      {"perf", {p.fwd_compute, p.fwd_comms, p.bwd_compute, p.bwd_comms, p.prefetch, p.input_dist}},
      {"hbm_ratio", s.hbm_ratio},
      {"ddr_ratio", s.ddr_ratio}};
}

Json ImbalanceJson(const std::optional<Imbalance>& i) {
  if (!i) return nullptr;
  return {{"Total Variation", i->total_variation},
          {"Total Distance", i->total_distance},
          {"Chi Divergence", i->chi_divergence},
          {"KL Divergence", i->kl_divergence}};
}

Json StatsJson(const PlanStats& s) {
  Json ranks = Json::array(), kernels = Json::object();
  for (size_t r = 0; r < s.ranks.size(); ++r) ranks.push_back(RankJson(s, r));
  for (const auto& [kernel, k] : s.kernels)
    kernels[ToString(kernel)] = {{"tables", k.tables},
                                 {"weight_bytes", k.weight_bytes},
                                 {"optimizer_bytes", k.optimizer_bytes},
                                 {"hbm", k.storage.hbm},
                                 {"ddr", k.storage.ddr},
                                 {"ssd", k.storage.ssd}};
  return {{"reserved_hbm_share", s.reserved_hbm_share},
          {"dense", MemoryJson(s.dense)},
          {"kjt", MemoryJson(s.kjt)},
          {"ranks", ranks},
          {"kernels", kernels},
          {"imbalance",
           {{"perf", ImbalanceJson(s.perf)},
            {"hbm", ImbalanceJson(s.hbm)},
            {"ddr", ImbalanceJson(s.ddr)}}},
          {"max_perf", s.max_perf},
          {"mean_perf", s.mean_perf},
          {"max_parts",
           {{"fwd_compute", s.max_parts.fwd_compute},
            {"fwd_comms", s.max_parts.fwd_comms},
            {"bwd_compute", s.max_parts.bwd_compute},
            {"bwd_comms", s.max_parts.bwd_comms},
            {"prefetch_compute", s.max_parts.prefetch}}},
          {"sum_of_maxima", s.sum_of_maxima},
          {"critical_path", {{"comms", s.critical_comms}, {"compute", s.critical_compute}}},
          {"tables_on_max_perf", s.tables_on_max_perf},
          {"tables_on_max_hbm", s.tables_on_max_hbm}};
}

PlacedOption GivenRow(const PlanInput& input, const EmbeddingEnumerator& enumerator,
                      const Json& row) {
  const int table = TableNamed(input.model, row.at("module").get<std::string>(),
                               row.at("table").get<std::string>());
  const ShardingType type = ParseShardingType(row.at("sharding_type").get<std::string>());
  PlacedOption placed;
  placed.option =
      enumerator.Price(table, type, ParsePlanKernel(row.at("compute_kernel").get<std::string>()),
                       ShardsOf(input.topology, input.model, table, type));
  placed.ranks.resize(static_cast<size_t>(placed.option.num_shards()));
  std::iota(placed.ranks.begin(), placed.ranks.end(), 0);
  if (row.at("ranks") != "all") placed.ranks = row["ranks"].get<std::vector<int>>();
  return placed;
}

}  // namespace

Json StatsOf(const PlanInput& input, const Json& given_plan) {
  const EmbeddingShardingPlanner planner(input.topology, input.model, input.options);
  std::vector<PlacedOption> tables;
  for (const Json& row : given_plan) tables.push_back(GivenRow(input, planner.enumerator(), row));
  return StatsJson(ComputeStats(input.topology, input.model, tables,
                                Reserve(input.topology, input.model, input.options.reservation)));
}

}  // namespace tessera::conformance
