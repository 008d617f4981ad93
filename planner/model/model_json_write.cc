#include "planner/model/model_json.h"
#include "runtime/json/json_fields.h"

namespace tessera {
namespace {

using internal::Json;

template <typename T>
void Put(Json& json, const char* key, const std::optional<T>& value) {
  if (value) json[key] = *value;
}
template <typename T>
void PutWord(Json& json, const char* key, const std::optional<T>& value) {
  if (value) json[key] = ToString(*value);
}
template <typename T>
void PutList(Json& json, const char* key, const std::vector<T>& values) {
  if (!values.empty()) json[key] = values;
}
template <typename T>
void PutWords(Json& json, const char* key, const std::vector<T>& values) {
  for (const T value : values) json[key].push_back(ToString(value));
}

Json TableJson(const PlannerTable& t) {
  Json json = {{"name", t.name}, {"rows", t.rows}, {"dim", t.dim}, {"dtype", ToString(t.dtype)}};
  PutList(json, "features", t.features);
  if (!t.optimizer.empty()) json["optimizer"] = t.optimizer;
  if (t.state_dtype) json["state_dtype"] = ToString(*t.state_dtype);
  if (t.kept_bytes) json["kept_bytes"] = {t.kept_bytes->column, t.kept_bytes->row};
  if (t.stored_rows || t.stored_dim) json["stored_shape"] = {t.planned_rows(), t.planned_dim()};
  Put(json, "stored_element_bytes", t.stored_element_bytes);
  return json;
}

Json ModulesJson(const PlannerModel& model) {
  Json modules = Json::array();
  for (const PlannerModule& module : model.modules)
    modules.push_back({{"path", module.path},
                       {"kind", ToString(module.kind)},
                       {"is_weighted", module.is_weighted},
                       {"tables", Json::array()}});
  for (const PlannerTable& table : model.tables)
    modules[static_cast<size_t>(table.module)]["tables"].push_back(TableJson(table));
  return modules;
}

Json CacheJson(const CacheParams& cache) {
  Json json = {{"algorithm", cache.algorithm}, {"prefetch_pipeline", cache.prefetch_pipeline}};
  Put(json, "load_factor", cache.load_factor);
  Put(json, "bytes", cache.bytes);
  Put(json, "ways", cache.ways);
  if (cache.always) json["always"] = true;
  Put(json, "num_passes", cache.num_passes);
  if (!cache.statistics) return json;
  json["stats"] = {{"cacheability", cache.statistics->cacheability},
                   {"expected_lookups", cache.statistics->expected_lookups},
                   {"hist", cache.statistics->histogram},
                   {"height", cache.statistics->height}};
  return json;
}

Json ConstraintsJson(const TableConstraints& c) {
  Json json = Json::object();
  PutWords(json, "sharding_types", c.sharding_types);
  PutWords(json, "compute_kernels", c.compute_kernels);
  Put(json, "min_partition", c.min_partition);
  json["pooling_factors"] = c.pooling_factors;
  PutList(json, "num_poolings", c.num_poolings);
  PutList(json, "batch_sizes", c.batch_sizes);
  if (c.is_weighted) json["is_weighted"] = true;
  PutWord(json, "output_dtype", c.output_dtype);
  PutWord(json, "device_group", c.device_group);
  if (c.cache_params) json["cache_params"] = CacheJson(*c.cache_params);
  if (c.key_value_params) {
    json["key_value_params"] = Json::object();
    Put(json["key_value_params"], "max_l1_cache_size", c.key_value_params->max_l1_cache_size);
    Put(json["key_value_params"], "l2_cache_size", c.key_value_params->l2_cache_size);
  }
  if (c.use_virtual_table) json["use_virtual_table"] = true;
  return json;
}

Json SharderJson(const SharderSettings& s) {
  Json fused = {{"prefetch_pipeline", s.prefetch_pipeline}}, comm = Json::object();
  Put(fused, "cache_load_factor", s.cache_load_factor);
  const auto put = [&](const char* key, const std::optional<CommBytes>& bytes) {
    if (bytes) comm[key] = {bytes->forward, bytes->backward};
  };
  put("pooled_all_to_all", s.pooled_all_to_all);
  put("sequence_all_to_all", s.sequence_all_to_all);
  put("pooled_reduce_scatter", s.pooled_reduce_scatter);
  return {{"fused_params", fused}, {"comm_bytes", comm}};
}

}  // namespace

std::string PlannerModelToJson(const PlannerModel& model) {
  Json constraints = Json::object(), sharders = Json::object();
  for (const auto& [name, c] : model.constraints) constraints[name] = ConstraintsJson(c);
  for (const auto& [kind, s] : model.sharders) sharders[ToString(kind)] = SharderJson(s);
  const EstimatorSettings& e = model.estimator;
  return internal::FieldALine({{"tessera_planner_model", 1},
                               {"batch_size", model.batch_size},
                               {"modules", ModulesJson(model)},
                               {"constraints", constraints},
                               {"sharders", sharders},
                               {"estimator",
                                {{"is_inference", e.is_inference},
                                 {"pipeline_type", ToString(e.pipeline_type)},
                                 {"run_embedding_at_peak_memory", e.run_embedding_at_peak_memory}}},
                               {"dense_parameter_bytes", model.dense_parameter_bytes},
                               {"dense_buffer_bytes", model.dense_buffer_bytes}});
}

}  // namespace tessera
