#ifndef TESSERA_TRAIN_METRICS_SCORED_EXAMPLES_H_
#define TESSERA_TRAIN_METRICS_SCORED_EXAMPLES_H_
// A run of examples with what a model said of them, as metrics take them.
#include <span>

namespace tessera {

struct ScoredExamples {
  std::span<const float> predictions;  // probabilities
  std::span<const float> labels;       // 0 to 1
  std::span<const float> weights;      // ≥ 0; empty: all 1

  size_t size() const { return labels.size(); }
  float weight(size_t i) const { return weights.empty() ? 1.0f : weights[i]; }
};

// Throws Error unless the three agree in size.
void CheckSizes(const ScoredExamples& examples);

}  // namespace tessera
#endif  // TESSERA_TRAIN_METRICS_SCORED_EXAMPLES_H_
