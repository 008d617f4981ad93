#include "optim/dense_state_names.h"

#include <algorithm>

#include "runtime/numbers/dtype.h"

namespace tessera {

std::vector<std::string> DenseStateNames(const DenseOptimizerConfig& config) {
  if (config.name == "adagrad" || config.name == "rowwise_adagrad") return {"step", "sum"};
  std::vector<std::string> names;
  if (config.name == "sgd") {
    if (config.momentum != 0) names.emplace_back("momentum_buffer");
    return names;
  }
  names = {"step", "exp_avg", "exp_avg_sq"};
  if (config.amsgrad) names.emplace_back("max_exp_avg_sq");
  return names;
}

int64_t CountStatesOfElements(const DenseOptimizerConfig& config) {
  if (config.name == "rowwise_adagrad") return 0;
  return std::ranges::count_if(DenseStateNames(config),
                               [](const std::string& name) { return name != "step"; });
}

int64_t CountStatesOfRows(const DenseOptimizerConfig& config) {
  return config.name == "rowwise_adagrad" ? 1 : 0;
}

int64_t DenseStateBytesARow(const DenseOptimizerConfig& config, int64_t columns) {
  return SizeOf(DType::kF32) *
         (columns * CountStatesOfElements(config) + CountStatesOfRows(config));
}

}  // namespace tessera
