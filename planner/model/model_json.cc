#include "planner/model/model_json.h"

#include "planner/model/model_json_impl.h"
#include "runtime/json/json_fields.h"

namespace tessera {
namespace internal {
namespace {

constexpr char kModelKey[] = "tessera_planner_model";
constexpr int64_t kModelVersion = 1;

// Calls fn(object, entry's key) for each entry of an object of objects.
template <typename Fn>
void ForEachEntry(JsonObject& object, const char* key, Fn&& fn) {
  const Json* entries = FindField(object, key);
  if (entries == nullptr) return;
  if (!entries->is_object()) ThrowExpected(object.at(key), "an object {…}", *entries);
  for (const auto& [name, value] : entries->items()) {
    JsonObject entry(value, Format("{}.{}", object.at(key), name));
    fn(entry, name);
    entry.Finish();
  }
}

// Calls fn(object) for each entry of a list of objects.
template <typename Fn>
void ForEachItem(JsonObject& object, const char* key, Fn&& fn) {
  const Json* items = FindList(object, key);
  if (items == nullptr) return;
  ForEachElement(*items, object.at(key), [&](const Json& value, const std::string& where) {
    JsonObject item(value, where);
    fn(item);
    item.Finish();
  });
}

// Calls fn(object) for an object under a key, if there is one.
template <typename Fn>
void WithObject(JsonObject& object, const char* key, Fn&& fn) {
  const Json* value = FindField(object, key);
  if (value == nullptr) return;
  JsonObject inner(*value, object.at(key));
  fn(inner);
  inner.Finish();
}

void ReadStoredShape(JsonObject& object, PlannerTable& table) {
  std::vector<int64_t> shape;
  ReadField(object, "stored_shape", shape);
  if (shape.empty()) return;
  if (shape.size() != 2)
    ThrowExpected(object.at("stored_shape"), "[rows, columns]", *object.Find("stored_shape"));
  table.stored_rows = shape[0];
  table.stored_dim = shape[1];
}

void ReadKeptBytes(JsonObject& object, PlannerTable& table) {
  std::vector<int64_t> bytes;
  ReadField(object, "kept_bytes", bytes);
  if (bytes.empty()) return;
  if (bytes.size() != 2)
    ThrowExpected(object.at("kept_bytes"), "[of a column, of a row]", *object.Find("kept_bytes"));
  table.kept_bytes = {bytes[0], bytes[1]};
}

PlannerTable TableFields(JsonObject& object) {
  PlannerTable table;
  object.Required("name", table.name);
  object.Required("rows", table.rows);
  object.Required("dim", table.dim);
  ReadWord(object, "dtype", ParseRowDType, table.dtype);
  ReadField(object, "features", table.features);
  ReadField(object, "optimizer", table.optimizer);
  ReadWord(object, "state_dtype", ParseRowDType, table.state_dtype);
  ReadKeptBytes(object, table);
  ReadStoredShape(object, table);
  ReadField(object, "stored_element_bytes", table.stored_element_bytes);
  return table;
}

void ReadModule(JsonObject& object, PlannerModel& model) {
  PlannerModule module;
  object.Required("path", module.path);
  ReadWord(object, "kind", ParseModuleKind, module.kind);
  ReadField(object, "is_weighted", module.is_weighted);
  const int index = static_cast<int>(model.modules.size());
  model.modules.push_back(module);
  ForEachItem(object, "tables", [&](JsonObject& item) {
    model.tables.push_back(TableFields(item));
    model.tables.back().module = index;
  });
}

CacheStatistics StatisticsFields(JsonObject& object) {
  CacheStatistics statistics;
  ReadField(object, "cacheability", statistics.cacheability);
  ReadField(object, "expected_lookups", statistics.expected_lookups);
  ReadField(object, "hist", statistics.histogram);
  ReadField(object, "height", statistics.height);
  return statistics;
}

CacheParams CacheFields(JsonObject& object) {
  CacheParams cache;
  ReadField(object, "algorithm", cache.algorithm);
  ReadField(object, "load_factor", cache.load_factor);
  ReadField(object, "bytes", cache.bytes);
  ReadField(object, "ways", cache.ways);
  ReadField(object, "always", cache.always);
  ReadField(object, "prefetch_pipeline", cache.prefetch_pipeline);
  ReadField(object, "num_passes", cache.num_passes);
  WithObject(object, "stats", [&](JsonObject& s) { cache.statistics = StatisticsFields(s); });
  return cache;
}

KeyValueParams KeyValueFields(JsonObject& object) {
  KeyValueParams params;
  ReadField(object, "max_l1_cache_size", params.max_l1_cache_size);
  ReadField(object, "l2_cache_size", params.l2_cache_size);
  return params;
}

TableConstraints ConstraintFields(JsonObject& object) {
  TableConstraints c;
  ReadWords(object, "sharding_types", ParseShardingType, c.sharding_types);
  ReadWords(object, "compute_kernels", ParsePlanKernel, c.compute_kernels);
  ReadField(object, "min_partition", c.min_partition);
  ReadField(object, "pooling_factors", c.pooling_factors);
  ReadField(object, "num_poolings", c.num_poolings);
  ReadField(object, "batch_sizes", c.batch_sizes);
  ReadField(object, "is_weighted", c.is_weighted);
  ReadWord(object, "output_dtype", ParseRowDType, c.output_dtype);
  ReadWord(object, "device_group", ParseComputeDevice, c.device_group);
  WithObject(object, "cache_params", [&](JsonObject& o) { c.cache_params = CacheFields(o); });
  WithObject(object, "key_value_params",
             [&](JsonObject& o) { c.key_value_params = KeyValueFields(o); });
  ReadField(object, "use_virtual_table", c.use_virtual_table);
  return c;
}

std::optional<CommBytes> CommField(JsonObject& object, const char* key) {
  std::vector<double> pair;
  ReadField(object, key, pair);
  if (pair.empty()) return {};
  if (pair.size() != 2 || pair[0] <= 0 || pair[1] <= 0)
    ThrowExpected(object.at(key), "[forward, backward] bytes above 0", *object.Find(key));
  return CommBytes{.forward = pair[0], .backward = pair[1]};
}

SharderSettings SharderFields(JsonObject& object) {
  SharderSettings settings;
  WithObject(object, "fused_params", [&](JsonObject& o) {
    ReadField(o, "cache_load_factor", settings.cache_load_factor);
    ReadField(o, "prefetch_pipeline", settings.prefetch_pipeline);
  });
  WithObject(object, "comm_bytes", [&](JsonObject& o) {
    settings.pooled_all_to_all = CommField(o, "pooled_all_to_all");
    settings.sequence_all_to_all = CommField(o, "sequence_all_to_all");
    settings.pooled_reduce_scatter = CommField(o, "pooled_reduce_scatter");
  });
  std::vector<std::string> codecs;  // what comm_bytes came from, for readers
  ReadField(object, "codecs", codecs);
  return settings;
}

EstimatorSettings EstimatorFields(JsonObject& object) {
  EstimatorSettings settings;
  ReadField(object, "is_inference", settings.is_inference);
  ReadWord(object, "pipeline_type", ParsePipelineType, settings.pipeline_type);
  ReadField(object, "run_embedding_at_peak_memory", settings.run_embedding_at_peak_memory);
  return settings;
}

}  // namespace

PlannerModel ModelFields(JsonObject& object) {
  PlannerModel model;
  ReadField(object, "batch_size", model.batch_size);
  ForEachItem(object, "modules", [&](JsonObject& module) { ReadModule(module, model); });
  ForEachEntry(object, "constraints", [&](JsonObject& entry, const std::string& name) {
    model.constraints[name] = ConstraintFields(entry);
  });
  ForEachEntry(object, "sharders", [&](JsonObject& entry, const std::string& name) {
    model.sharders[ParseField(name, object.at("sharders"), ParseModuleKind)] = SharderFields(entry);
  });
  WithObject(object, "estimator", [&](JsonObject& o) { model.estimator = EstimatorFields(o); });
  ReadField(object, "dense_parameter_bytes", model.dense_parameter_bytes);
  ReadField(object, "dense_buffer_bytes", model.dense_buffer_bytes);
  return model;
}

}  // namespace internal

PlannerModel PlannerModelFromJson(const std::string& text, const std::string& where) {
  return internal::ReadDocument(text, where, [](const internal::Json& document) {
    internal::JsonObject object(document, "");
    internal::CheckVersion(object, internal::kModelKey, internal::kModelVersion);
    PlannerModel model = internal::ModelFields(object);
    object.Finish();
    CheckModel(model);
    return model;
  });
}

}  // namespace tessera
