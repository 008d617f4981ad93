#include "embedding/managed_collision/managed_collision_config.h"

#include "embedding/managed_collision/growing_managed_collision_module.h"
#include "embedding/managed_collision/index/id_hash.h"

namespace tessera {
namespace {

using ModulePtr = std::shared_ptr<ManagedCollisionModule>;

AdmissionFilter FilterOf(const AdmissionConfig& config) {
  switch (config.kind) {
    case AdmissionKind::kAll:
      return {};
    case AdmissionKind::kDynamic:
      return DynamicThresholdFilter(config.skew_multiplier);
    case AdmissionKind::kAverage:
      return AverageThresholdFilter();
    case AdmissionKind::kProbabilistic:
      return ProbabilisticThresholdFilter(config.per_id_probability);
  }
  TESSERA_FAIL("managed collision: an unknown admission");
}

ModulePtr Make(Context&, GrowingIndexOptions options, const BaseEmbeddingConfig& table) {
  options.max_rows = table.num_embeddings - options.shared_rows;
  options.max_bytes = 0;
  options.name = table.name;
  return std::make_shared<GrowingManagedCollisionModule>(options);
}

ModulePtr Make(Context&, const MchConfig& config, const BaseEmbeddingConfig& table) {
  MchOptions options{.zch_size = table.num_embeddings - config.mch_size,
                     .eviction_policy = {.eviction = config.eviction,
                                         .decay_exponent = config.decay_exponent,
                                         .filter = FilterOf(config.admission)},
                     .eviction_interval = config.eviction_interval,
                     .mch_size = config.mch_size,
                     .name = table.name};
  if (config.input_hash_size > 0) {
    options.input_hash_size = config.input_hash_size;
    options.input_hash_func = internal::HashBelow;
  }
  if (config.mch_size > 0) options.mch_hash_func = internal::ResidualHashBelow;
  return std::make_shared<MCHManagedCollisionModule>(std::move(options));
}

ModulePtr Make(Context& ctx, HashZchOptions options, const BaseEmbeddingConfig& table) {
  options.zch_size = table.num_embeddings;
  options.name = table.name;
  return std::make_shared<HashZchManagedCollisionModule>(ctx, std::move(options));
}

}  // namespace

std::string ToString(AdmissionKind kind) {
  constexpr const char* kNames[] = {"all", "dynamic", "average", "probabilistic"};
  return kNames[static_cast<size_t>(kind)];
}

std::string ToString(HashZchClock clock) {
  return clock == HashZchClock::kHours ? "HOURS" : "FORWARDS";
}

std::string KindOf(const ManagedCollisionConfig& config) {
  constexpr const char* kNames[] = {"growing", "mch", "hash_zch"};
  return kNames[config.index()];
}

ModulePtr MakeManagedCollisionModule(Context& ctx, const ManagedCollisionConfig& config,
                                     const BaseEmbeddingConfig& table) {
  TESSERA_CHECK_GE(table.num_embeddings, 2,
                   "managed collision: rows of table {}, one of which ids without one may need",
                   table.name);
  return std::visit([&](const auto& options) { return Make(ctx, options, table); }, config);
}

}  // namespace tessera
