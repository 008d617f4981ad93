#ifndef TESSERA_TESTS_TRAIN_TESTING_LABELLED_H_
#define TESSERA_TESTS_TRAIN_TESTING_LABELLED_H_
// Rows with labels for three tasks, and a configuration that learns them.
#include <cmath>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "data/data_source.h"
#include "runtime/tensor.h"
#include "tests/train/testing/small_run.h"
#include "train/config/train_config.h"

namespace tessera::testing {

// Three labels that follow from dense features: click; stars, 1 to 4, and none of every third row;
// bought, which counts for clicks.
class Labelled final : public DataSource {
 public:
  explicit Labelled(std::unique_ptr<DataSource> from, bool weighted = false)
      : from_(std::move(from)), weighted_(weighted) {}
  std::optional<Batch> Next() override {
    std::optional<Batch> batch = from_->Next();
    if (!batch) return batch;
    const int64_t rows = batch->size();
    const Tensor labels = Tensor::EmptyHost({rows, 3}, DType::kF32);
    const float* const dense = batch->dense.data<float>();
    for (int64_t i = 0; i < rows; ++i) {
      const float* const x = dense + i * batch->dense.dim(1);
      const float click = x[0] > 1 ? 1.0f : 0.0f, other = x[1] > 1 ? 1.0f : 0.0f;
      float* const row = labels.data<float>() + 3 * i;
      row[0] = click;
      row[1] = i % 3 == 0 ? std::nanf("") : 1 + click + 2 * other;
      row[2] = click * other;
    }
    batch->labels = labels;
    if (weighted_) {
      batch->weights = Tensor::EmptyHost({rows}, DType::kF32);
      for (int64_t i = 0; i < rows; ++i)
        batch->weights.span<float>()[i] = static_cast<float>((i + batch->first_row) % 4);
    }
    return batch;
  }

 private:
  std::unique_ptr<DataSource> from_;
  bool weighted_;
};

inline TrainConfig LabelledConfig(RankingModelType type) {
  TrainConfig config = SmallConfig();
  config.batch_size = 256;
  for (EmbeddingBagConfig& table : config.tables) table.optimizer = RowwiseAdagrad{0.1f};
  RankingNetConfig& net = config.model;
  net.type = type;
  if (type == RankingModelType::kDeepFm)
    net = {.type = type, .dense_in = net.dense_in, .hidden = 8, .deep_fm_dim = 8};
  if (type == RankingModelType::kDlrmDcn) net.dcn_layers = net.dcn_low_rank = 2;
  if (type == RankingModelType::kDlrmProjection) net.branch1 = net.branch2 = {8};
  if (TakesAnyDims(type)) {
    net.over_arch.clear();
    net.experts = 2;
    net.expert_arch = {16, 8};
    net.tower_arch = {8, 1};
  } else if (type != RankingModelType::kDeepFm) {
    net.over_arch.back() = 3;
  }
  if (type == RankingModelType::kPle) net.extraction_layers = net.task_experts = 2;
  net.tasks = {{.name = "click", .label = "click"},
               {.name = "rating", .label = "stars", .loss = TaskLoss::kMse, .weight = 0.25f},
               {.name = "buy", .label = "bought", .where = "click"}};
  nlohmann::json json = nlohmann::json::parse(ToJson(config));
  json["data"] = {{"format", "jsonl"},
                  {"dense", {"int_{0..12}"}},
                  {"labels", {"click", {{"name", "stars"}, {"missing", "skip"}}, "bought"}}};
  return ParseTrainConfig(json.dump(), "labelled");
}

// The rows that Labelled gives the labels of such a configuration.
inline TrainConfig RowsFor(const TrainConfig& config, int64_t rows = 1000) {
  TrainConfig planted = SmallConfig();
  planted.batch_size = config.batch_size;
  planted.accumulate_steps = config.accumulate_steps;
  planted.data.rows = rows;
  return planted;
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_TRAIN_TESTING_LABELLED_H_
