#ifndef TESSERA_EMBEDDING_CONFIG_EMBEDDING_CONFIGS_H_
#define TESSERA_EMBEDDING_CONFIG_EMBEDDING_CONFIGS_H_
// Configurations of tables and of the features that read them. The names are TorchRec's
// (torchrec/modules/embedding_configs.py).
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "embedding/config/placement.h"
#include "embedding/config/pooling.h"
#include "optim/any_rule.h"
#include "runtime/tensor.h"
#include "sparse/keyed_jagged_tensor.h"

namespace tessera {

class IndexRemap;

namespace internal {

// Row and column of this table's first element in the whole table, if it is a shard of one;
// rounding by chance and first values depend on them. Names of tables may repeat where they differ.
struct PlaceInTable {
  int64_t first_row = 0, first_column = 0;
  // A shard whose rows are made when they are first read needs the whole table's columns, and the
  // random numbers that it starts with.
  int64_t whole_columns = 0;
  uint64_t start_sequence = 0;
  // A growing table has all its rows from the start, which take memory when a batch first names
  // them: a shard, or one whose raw ids are in parts (embedding/storage/rows_on_use.h).
  bool all_rows = false;
  // Fills all rows of a shard when it is made, in place of init_fn and init_range.
  std::function<void(Context&, const Tensor&)> fill = {};
};

}  // namespace internal

struct BaseEmbeddingConfig {
  std::string name;
  int64_t num_embeddings = 0;  // rows, E
  int64_t embedding_dim = 0;   // D
  std::vector<std::string> feature_names;
  // Type of the rows: f32, f16 or bf16. Arithmetic is f32; a row is rounded once, when it is
  // stored.
  DType data_type = DType::kF32;
  // Rows start uniform in this range; absent: ±√(1/E), as in TorchRec.
  std::optional<std::pair<float, float>> init_range;
  // Fills the [E, D] weight instead, if given (embedding/table/row_init.h has some). The weight is
  // f32 whatever the rows are: they are rounded to nearest afterwards.
  std::function<void(Context&, const Tensor&)> init_fn;
  // Applied to the touched rows inside backward; Dense{} makes the table an ordinary variable
  // instead.
  AnyRule optimizer = Sgd{};
  // Type of the optimizer state: f32, f16 or bf16. Counts stay f32 (StateSpec::counts).
  DType state_type = DType::kF32;
  // Whether updated 16-bit rows are rounded stochastically (embedding/update/row_rounding.h) or to
  // nearest. FBGEMM's default is true.
  bool stochastic_rounding = false;
  // TableBatchedEmbedding::SetLearningRate(lr) multiplies lr by this for this table. The rate that
  // `optimizer` starts with is taken as it is.
  float lr_scale = 1;
  // Set for a pruned table, num_embeddings rows of which are left: maps ids of the data, after
  // their bounds check, to rows. Updates change those rows.
  std::shared_ptr<const IndexRemap> index_remap;
  // Bounds check of the ids that the table's features read; absent: the mode of the collection's
  // options.
  std::optional<BoundsCheckMode> bounds_check = {};
  // Memory of rows and states; the bits do not depend on it. The rules Dense and None refuse
  // locations with a cache.
  EmbeddingLocation location = EmbeddingLocation::kDevice;
  CacheConfig cache = {};  // under kManagedCaching
  // Rows come into use one after another (TableRows::SetInUse), num_embeddings at
  // most; other ids add nothing. Rows and states lie in addresses reserved for all of them, and
  // take memory as they come into use (ReservedTensor says how a GPU's does). Start values depend
  // on seed, table, row and step alone (embedding/table/new_row_init.h): an init_fn is given a row
  // at a time. Not for the rule Dense, an index_remap or kManagedCaching.
  // Over ranks all rows are there from the start, with the values of a table that does not grow,
  // and take memory on a CPU when a batch first names them: weight() is refused there. A table with
  // a cache or an init_fn, or of a rule that is Dense, None or works on whole tables
  // (embedding/table/table_start.h), then takes memory for all of them at once.
  bool growing = false;
  internal::PlaceInTable place = {};  // set by sharding/
};

// Range of first values without an init_fn.
// Throws Error for one that is none.
inline std::pair<float, float> InitRange(const BaseEmbeddingConfig& config) {
  if (const auto& range = config.init_range)
    TESSERA_CHECK(std::isfinite(range->first) && std::isfinite(range->second) &&
                      range->first <= range->second,
                  "table {}: init_range from {} to {}; expected finite numbers that do not fall",
                  config.name, range->first, range->second);
  const auto bound =
      static_cast<float>(std::sqrt(1.0 / static_cast<double>(config.num_embeddings)));
  return config.init_range.value_or(std::pair(-bound, bound));
}

// Throws Error for a location with a cache beside Dense or None, which update no rows.
inline void CheckLocationOfRule(const std::string& table, EmbeddingLocation location,
                                const AnyRule& rule) {
  const bool updates = !std::holds_alternative<Dense>(rule) && !std::holds_alternative<None>(rule);
  TESSERA_CHECK(updates || !IsCached(location),
                "table {}: location {} is for rules that update rows, not for {}", table,
                ToString(location), RuleName(rule));
}

// Throws Error for a table on disk that an init_fn would fill.
inline void CheckStartOnDisk(const BaseEmbeddingConfig& config) {
  TESSERA_CHECK(config.location != EmbeddingLocation::kDisk || config.init_fn == nullptr,
                "table {}: location DISK: an init_fn fills a whole table in memory; rows on disk "
                "start uniform in init_range, so leave init_fn out",
                config.name);
}

struct EmbeddingBagConfig : BaseEmbeddingConfig {
  PoolingType pooling = PoolingType::kSum;  // kSum or kMean
};

struct EmbeddingConfig : BaseEmbeddingConfig {};

// One column block of the output (pooled) or one sequence: which table, and which key of the KJT it
// reads.
struct EmbeddingFeature {
  std::string name;
  int table = 0;
  std::string key;
};

// A batch and the f32 gradients of its forward's outputs: `pooled` in the flat order of
// TableBatchedEmbedding::Forward, `sequences` one [N_f, D] for each feature with pooling NONE.
struct UpdateBatch {
  KeyedJaggedTensor kjt;
  Tensor pooled;
  std::vector<Tensor> sequences;
};

namespace internal {

// Settings of tables that are shards or replicas.
struct UpdateSharding {
  // Factor of a row's summed gradient, applied before its rule sees it. Gradients of per-sample
  // weights are not scaled.
  float gradient_scale = 1;
  // If given, backward updates the tables with what this makes of the forward's own batch: replicas
  // exchange their batches. Gradients of per-sample weights are those of the own batch. REQUIRES:
  // no inverse indices.
  std::function<UpdateBatch(Context&, UpdateBatch)> exchange_updates = {};
  // Whether tables of several ranks have one max_counter, which their owner renews
  // (TableBatchedEmbedding::set_max_counter), and not a training forward.
  bool shares_max_counter = false;
};

}  // namespace internal

struct TableBatchedEmbeddingOptions {
  bool weighted = false;
  BoundsCheckMode bounds_check = BoundsCheckMode::kFatal;
  float max_gradient =
      0;  // above 0: every element of an incoming gradient is clamped to ± this before all else
  // One a feature, or empty (all): per-sample weights of a feature with false get the gradient 0.
  std::vector<bool> feature_requires_grad = {};
  // Type of what a forward returns: f32, f16 or bf16. Backward takes gradients of it as they are,
  // and of any other type as f32; the arithmetic is that of f32.
  DType output_type = DType::kF32;
  // Seed of stochastic rounding; absent: drawn from the context's random numbers. If given, it is
  // also the seed of first values in growing tables, which otherwise is the context's.
  std::optional<uint64_t> rounding_seed = {};
  internal::UpdateSharding sharding = {};  // set by sharding/
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_CONFIG_EMBEDDING_CONFIGS_H_
