#ifndef TESSERA_PLANNER_STEP_MODEL_STEP_LOAD_H_
#define TESSERA_PLANNER_STEP_MODEL_STEP_LOAD_H_
// The load of a training step on any machine, under any plan: tables, the ids of a batch, and the
// dense part. Plain data.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "embedding/config/placement.h"
#include "planner/model/kept_bytes.h"
#include "planner/step_model/row_popularity.h"
#include "quant/wire_codec.h"
#include "runtime/numbers/dtype.h"
#include "sharding/plan/plan.h"

namespace tessera {

struct StepFeature {
  double bags = 0;  // of one rank's batch
  double ids = 0;   // of one rank's batch, in all bags
  RowPopularity popularity = {};
};

struct StepTable {
  std::string name;
  int64_t rows = 0, dim = 0;
  DType row_type = DType::kF32, state_type = DType::kF32;
  std::string rule = "sgd";                  // a name of optim/any_rule.h
  std::optional<KeptBytes> kept_bytes = {};  // in memory, in place of the rule's states
  bool sequences = false;                    // a row for each id comes back, not one for each bag
  bool weighted = false;                     // ids carry a weight
  CacheConfig cache = {};                    // of each shard, where the table has caches
  std::vector<StepFeature> features = {};
};

struct StepLoad {
  std::vector<StepTable> tables;
  WireCodecs codecs = {};
  int64_t id_bytes = 8;
  // For one rank: flops of forward and backward together, one entry a layer; and the bytes of
  // gradients that are summed over the ranks.
  std::vector<double> dense_flops = {};
  double dense_bytes = 0;
};

std::vector<TableShape> ShapesOf(const StepLoad& load);

// Bytes of a row with its optimizer states. Throws Error for a rule that the library does
// not have, listing those it has.
double BytesOfRow(const StepTable& table);
double BytesOfStates(const StepTable& table, double columns);
// Bytes that training keeps of a row beside its weights: kept_bytes, else those of its states.
double KeptBesideRow(const StepTable& table, double columns);
// Returns the rule of kMeasuredRules that is most like it, by the states of an element and a row.
std::string MeasuredRuleLike(const std::string& rule);
inline constexpr const char* kMeasuredRules[] = {"sgd", "rowwise_adagrad", "adagrad", "adam"};

}  // namespace tessera
#endif  // TESSERA_PLANNER_STEP_MODEL_STEP_LOAD_H_
