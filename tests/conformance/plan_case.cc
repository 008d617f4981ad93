#include "tests/conformance/plan_case.h"

#include <cmath>
#include <map>

#include "planner/model/model_json_impl.h"
#include "planner/model/topology_json_impl.h"
#include "runtime/json/json_fields.h"

namespace tessera::conformance {
namespace {

// The library reads JSON that keeps its order.
internal::Json Ordered(const Json& json) { return internal::Json::parse(json.dump()); }

template <typename T>
void Set(const Json& object, const char* key, T& out) {
  if (object.contains(key) && !object[key].is_null()) out = object[key].get<T>();
}
template <typename T>
void Set(const Json& object, const char* key, std::optional<T>& out) {
  if (object.contains(key) && !object[key].is_null()) out = object[key].get<T>();
}

Reservation ReservationOf(const Json& r) {
  Reservation out;
  out.kind = ParseReservationKind(r.at("kind").get<std::string>());
  Set(r, "percentage", out.percentage);
  Set(r, "parameter_multiplier", out.parameter_multiplier);
  Set(r, "dense_tensor_estimate", out.dense_tensor_estimate);
  Set(r, "hbm_reserved_bytes", out.hbm_reserved_bytes);
  Set(r, "margin_bytes", out.margin_bytes);
  Set(r, "runtime_overhead_bytes", out.runtime_overhead_bytes);
  Set(r, "model_base_bytes", out.model_base_bytes);
  return out;
}

PlannerOptions OptionsOf(const Json& planner) {
  PlannerOptions options;
  options.reservation = ReservationOf(planner.at("reservation"));
  if (!planner.contains("proposers")) return options;  // of `stats`
  for (const Json& proposer : planner.at("proposers"))
    options.proposers.push_back(ProposerOf(proposer));
  options.partitioner = PartitionerOf(planner.at("partitioner"));
  options.perf_model = ParsePerfModel(planner.at("perf_model").get<std::string>());
  return options;
}

Json ShardJson(const ShardPerf& p) {
  return {p.fwd_compute, p.fwd_comms, p.bwd_compute, p.bwd_comms, p.prefetch, p.input_dist};
}

std::string NumberText(const Json& number) {
  return number.is_number_float() ? Format("{:.17g}", number.get<double>()) : number.dump();
}

}  // namespace

ProposerSettings ProposerOf(const Json& p) {
  ProposerSettings settings;
  settings.kind = ParseProposerKind(p.at("kind").get<std::string>());
  Set(p, "use_depth", settings.use_depth);
  Set(p, "threshold", settings.threshold);
  Set(p, "max_proposals", settings.max_proposals);
  Set(p, "hbm_bins_per_device", settings.hbm_bins_per_device);
  return settings;
}

PartitionerSettings PartitionerOf(const Json& p) {
  PartitionerSettings settings;
  settings.kind = ParsePartitionerKind(p.at("kind").get<std::string>());
  if (p.contains("sort_by")) settings.sort_by = ParseSortBy(p["sort_by"].get<std::string>());
  Set(p, "balance_modules", settings.balance_modules);
  Set(p, "max_search_count", settings.max_search_count);
  Set(p, "tolerance", settings.tolerance);
  return settings;
}

PlanInput PlanInputOf(const Json& input) {
  PlanInput out;
  const internal::Json ordered = Ordered(input);
  internal::JsonObject object(ordered, "");
  const internal::Json topology_json =
      ordered.contains("topology") ? ordered["topology"] : internal::Json::object();
  internal::JsonObject topology(topology_json, "topology");
  out.topology = internal::TopologyFields(topology);
  topology.Finish();
  out.model = internal::ModelFields(object);
  if (input.contains("planner")) out.options = OptionsOf(input["planner"]);
  return out;
}

int TableNamed(const PlannerModel& model, const std::string& module, const std::string& name) {
  for (size_t t = 0; t < model.tables.size(); ++t)
    if (model.full_name(model.tables[t]) == module + "." + name) return static_cast<int>(t);
  throw Different("there is no table " + module + "." + name);
}

std::vector<ShardingOption> GivenOptions(const Json& options, std::vector<std::string>* tables) {
  std::vector<ShardingOption> out;
  std::map<std::string, int> table_number, module_number;
  for (const Json& o : options) {
    const auto module = o.at("module").get<std::string>();
    const std::string name = module + "." + o.at("table").get<std::string>();
    const auto [table, added] =
        table_number.try_emplace(name, static_cast<int>(table_number.size()));
    if (added && tables != nullptr) tables->push_back(name);
    ShardingOption option;
    option.table = table->second;
    option.module =
        module_number.try_emplace(module, static_cast<int>(module_number.size())).first->second;
    option.type = ParseShardingType(o.at("sharding_type").get<std::string>());
    option.kernel = ParsePlanKernel(o.at("compute_kernel").get<std::string>());
    Set(o, "dependency", option.dependency);
    const auto shards = o.at("num_shards").get<int64_t>();
    const Json perf = Spread(o.at("perf"), shards), hbm = Spread(o.at("hbm"), shards),
               ddr = Spread(o.at("ddr"), shards), ssd = Spread(o.at("ssd"), shards);
    for (size_t i = 0; i < static_cast<size_t>(shards); ++i)
      option.shards.push_back(
          {.perf = {.fwd_compute = perf[i].get<double>()},
           .storage = {hbm[i].get<int64_t>(), ddr[i].get<int64_t>(), ssd[i].get<int64_t>()}});
    out.push_back(std::move(option));
  }
  return out;
}

Json OptionJson(const PlannerModel& model, const Topology& topology, const ShardingOption& o) {
  const PlannerTable& table = model.tables[static_cast<size_t>(o.table)];
  Json json = {{"module", model.module_of(table).path},
               {"table", table.name},
               {"sharding_type", ToString(o.type)},
               {"compute_kernel", ToString(o.kernel)},
               {"partition_by", ToString(o.partition_by())},
               {"is_pooled", o.is_pooled},
               {"is_weighted", o.is_weighted},
               {"num_shards", o.num_shards()}};
  for (const Shard& shard : ShardsOf(topology, model, o.table, o.type))
    json["offsets"].push_back({shard.row_offset, shard.column_offset});
  o.ForEachShard([&](int64_t, const ShardRun& run) {
    json["sizes"].push_back({run.rows, run.columns});
    json["perf"].push_back(ShardJson(run.perf));
    json["hbm"].push_back(run.storage.hbm);
    json["ddr"].push_back(run.storage.ddr);
    json["ssd"].push_back(run.storage.ssd);
  });
  return json;
}

Json Spread(const Json& list, int64_t count) {
  if (list.size() != 1) return list;
  Json spread = Json::array();
  for (int64_t i = 0; i < count; ++i) spread.push_back(list[0]);
  return spread;
}

void CompareJson(const Json& got, const Json& want, const std::string& where, double rtol,
                 double atol) {
  if (want.is_object()) {
    for (const auto& [key, value] : want.items()) {
      if (!got.contains(key)) throw Different(where + "." + key + ": missing");
      CompareJson(got[key], value, where + "." + key, rtol, atol);
    }
    return;
  }
  if (want.is_array()) {
    if (got.size() != want.size())
      throw Different(Format("{}: {} entries, expected {}", where, got.size(), want.size()));
    for (size_t i = 0; i < want.size(); ++i)
      CompareJson(got[i], want[i], Format("{}[{}]", where, i), rtol, atol);
    return;
  }
  if (want.is_number_float() && got.is_number()) {
    const double a = got.get<double>(), b = want.get<double>();
    if (a == b || std::abs(a - b) <= rtol * std::abs(b) + atol) return;
  } else if (got == want) {
    return;
  }
  throw Different(Format("{}: got {}, expected {}", where, NumberText(got), NumberText(want)));
}

}  // namespace tessera::conformance
