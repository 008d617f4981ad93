#include "train/planner_model.h"

#include <algorithm>

#include "runtime/check.h"
#include "train/dlrm_config.h"

namespace tessera {
namespace {

RowDType RowTypeOf(const EmbeddingBagConfig& table) {
  switch (table.data_type) {
    case DType::kF32:
      return RowDType::kFp32;
    case DType::kF16:
      return RowDType::kFp16;
    case DType::kBF16:
      return RowDType::kBf16;
    default:
      throw Error(Format("table {}: rows of {} are not trained", table.name, table.data_type));
  }
}

int64_t DenseBytes(const TrainConfig& config) {
  int64_t parameters = 0;
  for (const auto& [in, out] : LinearLayersOf(DlrmConfigOf(config))) parameters += (in + 1) * out;
  return parameters * int64_t{sizeof(float)};
}

}  // namespace

PlannerModel PlannerModelOf(const TrainConfig& config, int ranks) {
  PlannerModel model;
  model.batch_size = std::max<int64_t>(1, config.batch_size / ranks);
  model.modules = {{.path = "sparse_arch.embedding_bag_collection", .kind = ModuleKind::kEbc}};
  for (const EmbeddingBagConfig& table : config.tables) {
    model.tables.push_back({.name = table.name,
                            .rows = table.num_embeddings,
                            .dim = table.embedding_dim,
                            .dtype = RowTypeOf(table),
                            .features = table.feature_names,
                            .optimizer = RuleName(table.optimizer)});
    model.constraints[table.name].pooling_factors.assign(table.feature_names.size(), 1.0);
  }
  model.dense_parameter_bytes = DenseBytes(config);
  return model;
}

}  // namespace tessera
