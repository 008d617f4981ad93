#ifndef TESSERA_TESTS_CROSSINGS_TABLES_CASE_H_
#define TESSERA_TESTS_CROSSINGS_TABLES_CASE_H_
// The meaning of a point for collections of tables: three tables and what they read, a plan, and
// for each step and rank a batch and the gradients of what comes out.
#include <optional>
#include <string>
#include <vector>

#include "embedding/config/embedding_configs.h"
#include "embedding/itep/itep_module.h"
#include "embedding/managed_collision/managed_collision_config.h"
#include "runtime/autograd.h"
#include "sharding/plan/plan.h"
#include "sparse/keyed_jagged_tensor.h"
#include "tests/crossings/point.h"
#include "tests/testing/rank_batches.h"

namespace tessera::testing {

const std::vector<Axis>& TablesAxes();

inline constexpr int kTablesSteps = 6, kBreakAfter = 3;  // steps; those before a checkpoint

class TablesCase {
 public:
  explicit TablesCase(Point point) : point_(std::move(point)) {}

  const Point& point() const { return point_; }
  bool sharded() const { return !point_.Is("sharding", "none"); }
  int ranks() const { return sharded() ? std::stoi(point_["ranks"]) : 1; }
  bool pooled() const { return !point_.Is("pooling", "NONE"); }
  bool weighted() const { return point_.Is("batch", "weighted|learned_weights"); }
  bool raw_ids() const { return point_.Is("ids", "growing|mch|hash_zch"); }
  PoolingType pooling() const;
  BoundsCheckMode bounds() const { return ParseBoundsCheckMode(point_["bounds"]); }  // of t1
  float max_gradient() const { return point_.Is("control", "clamped") ? 0.25f : 0.0f; }

  // Tables with index remaps on ctx's device.
  std::vector<BaseEmbeddingConfig> Tables(Context& ctx) const;
  ManagedTableConfigs Managed() const;  // empty but for raw ids
  std::optional<ItepOptions> Itep() const;
  // The plan before the checkpoint, or the one that is loaded.
  ShardingPlan Plan(bool after_checkpoint) const;

  // A step's batch is cut into parts: micro-batch m of rank r is part r·micro_batches() + m.
  int micro_batches() const { return point_.Is("accumulation", "none") ? 1 : 3; }
  int parts() const { return ranks() * micro_batches(); }
  // Parts [first, end), joined one after another.
  KeyedJaggedTensor Batch(Context& ctx, int step, int first, int end) const;
  // The gradients of what these parts get, times `scale`: of the output's type, pooled [B, ΣD], or
  // [N_f, D] a feature.
  std::vector<Tensor> Gradients(Context& ctx, int step, int first, int end, float scale) const;
  float LearningRate(int step) const;  // after the step

 private:
  RankBatch OfPart(int step, int part) const;
  int64_t IdBelow(const std::string& key) const;

  Point point_;
};

// Names and keys of what comes out, in table order, then feature order in the table.
std::vector<EmbeddingFeature> FeaturesOf(const std::vector<BaseEmbeddingConfig>& tables);

// One scalar made of all outputs, whose gradients are these.
Variable WithGradients(Context& ctx, const std::vector<Variable>& outputs,
                       const std::vector<Tensor>& gradients);

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_CROSSINGS_TABLES_CASE_H_
