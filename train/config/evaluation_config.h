#ifndef TESSERA_TRAIN_CONFIG_EVALUATION_CONFIG_H_
#define TESSERA_TRAIN_CONFIG_EVALUATION_CONFIG_H_
// When a training evaluates inside an epoch, by which metric it keeps its best model, and when it
// stops early. An epoch's end is always evaluated.
#include <cstdint>
#include <optional>
#include <string>

namespace tessera {

struct EvaluationConfig {
  // At most one of the two is above 0: after every so many steps, counted over all epochs; after
  // every such fraction of an epoch, below 1, rounded down to whole steps.
  int64_t every_steps = 0;
  double every = 0;
  // A name of train/evaluation_metric.h; "": the AUC of the first task if that learns clicks, else
  // the loss.
  std::string metric = {};
  std::optional<double> target = {};  // training stops when the metric is as good as this
  int64_t patience = 0;  // or after so many evaluations in a row without a better value; 0: never

  friend bool operator==(const EvaluationConfig&, const EvaluationConfig&) = default;
};

}  // namespace tessera
#endif  // TESSERA_TRAIN_CONFIG_EVALUATION_CONFIG_H_
