#include "embedding/managed_collision/managed_collision_config.h"

#include <algorithm>
#include <type_traits>

#include "embedding/managed_collision/growing_managed_collision_module.h"
#include "embedding/managed_collision/index/id_hash.h"
#include "embedding/managed_collision/index/zch_probe.h"

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

// The options with the table's rows and name.
GrowingIndexOptions OfTable(GrowingIndexOptions options, const BaseEmbeddingConfig& table) {
  options.max_rows = table.num_embeddings - options.shared_rows;
  options.max_bytes = 0;
  options.name = table.name;
  return options;
}
HashZchOptions OfTable(HashZchOptions options, const BaseEmbeddingConfig& table) {
  options.zch_size = table.num_embeddings;
  options.name = table.name;
  return options;
}

void Check(const GrowingIndexOptions& options) { CheckGrowingIndexOptions(options); }
void Check(const HashZchOptions& options) { CheckHashZchOptions(options); }

ModulePtr Make(Context&, const GrowingIndexOptions& options, const BaseEmbeddingConfig& table) {
  return std::make_shared<GrowingManagedCollisionModule>(OfTable(options, table));
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

ModulePtr Make(Context& ctx, const HashZchOptions& options, const BaseEmbeddingConfig& table) {
  return std::make_shared<HashZchManagedCollisionModule>(ctx, OfTable(options, table));
}

constexpr int64_t kNumber = 8;

// Bytes of one module of so many rows, at the start and at most.
int64_t StateBytes(const GrowingIndexOptions& options, int64_t rows) {
  return GrowingIndex::SketchBytes(options, rows - options.shared_rows);
}
int64_t StateBytes(const MchConfig& config, int64_t rows) {
  const int64_t counts = config.eviction == MchEviction::kLru ? 0 : 1,
                times = config.eviction == MchEviction::kLfu ? 0 : 1;
  return (rows - config.mch_size) * kNumber * (2 + counts + times);
}
int64_t StateBytes(const HashZchOptions& options, int64_t rows) {
  return rows * (kNumber + (options.eviction == HashZchEviction::kNone ? 0 : 4));
}
int64_t MostBytes(const GrowingIndexOptions& options, int64_t rows) {
  return GrowingIndex::MostBytes(options, rows - options.shared_rows);
}
int64_t MostBytes(const MchConfig& config, int64_t rows) {
  return (rows - config.mch_size) * kNumber * 4;  // counts and times, too, though one is not read
}
int64_t MostBytes(const HashZchOptions& options, int64_t rows) { return StateBytes(options, rows); }

// Adds up what bytes_of(options, rows) says of the parts of a table.
template <typename Fn>
int64_t OfParts(const ManagedTableConfig& config, int64_t rows, const Fn& bytes_of) {
  const int64_t parts = std::max<int64_t>(1, config.num_parts);
  return parts * std::visit([&](const auto& options) { return bytes_of(options, rows / parts); },
                            config.module);
}

}  // namespace

int64_t BytesOfIdsAtStart(const ManagedTableConfig& config, int64_t rows) {
  return OfParts(config, rows,
                 [](const auto& options, int64_t n) { return StateBytes(options, n); });
}

int64_t MostBytesOfIds(const ManagedTableConfig& config, int64_t rows) {
  return OfParts(config, rows,
                 [](const auto& options, int64_t n) { return MostBytes(options, n); });
}

int64_t CountIdsIn(const std::string& name, int64_t count,
                   const std::function<std::vector<int64_t>()>& read) {
  if (name.ends_with("_growing_ids")) return count;
  if (name.ends_with("_growing_free_rows")) return -count;
  const auto but = [&](int64_t nobody) {
    const std::vector<int64_t> ids = read();
    return std::ssize(ids) - std::ranges::count(ids, nobody);
  };
  if (name.ends_with("_mch_sorted_raw_ids")) return but(internal::kNobody);
  if (name.ends_with("_hash_zch_identities")) return but(internal::kEmptySlot);
  return 0;
}

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

void CheckManagedCollisionOptions(const ManagedCollisionConfig& config,
                                  const BaseEmbeddingConfig& table) {
  std::visit(
      [&]<typename Options>(const Options& options) {
        if constexpr (!std::is_same_v<Options, MchConfig>) Check(OfTable(options, table));
      },
      config);
}

ModulePtr MakeManagedCollisionModule(Context& ctx, const ManagedCollisionConfig& config,
                                     const BaseEmbeddingConfig& table) {
  TESSERA_CHECK_GE(table.num_embeddings, 2,
                   "managed collision: rows of table {}, one of which ids without one may need",
                   table.name);
  return std::visit([&](const auto& options) { return Make(ctx, options, table); }, config);
}

}  // namespace tessera
