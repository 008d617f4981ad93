#ifndef TESSERA_METRICS_STATE_SCORED_EXAMPLES_H_
#define TESSERA_METRICS_STATE_SCORED_EXAMPLES_H_
// A run of examples with what a model said of them, as metrics take them.
#include <cstdint>
#include <span>

namespace tessera {

struct ScoredExamples {
  std::span<const float> predictions;   // probabilities
  std::span<const float> labels;        // 0 to 1
  std::span<const float> weights = {};  // ≥ 0; empty: all 1

  size_t size() const { return labels.size(); }
  float weight(size_t i) const { return weights.empty() ? 1.0f : weights[i]; }

  // fn(prediction, label, weight), in double, for each example.
  template <typename Fn>
  void ForEach(Fn&& fn) const {
    for (size_t i = 0; i < size(); ++i)
      fn(static_cast<double>(predictions[i]), static_cast<double>(labels[i]),
         static_cast<double>(weight(i)));
  }
};

// Throws Error unless the three agree in size, with `classes` predictions an example.
void CheckSizes(const ScoredExamples& examples, int64_t classes = 1);

}  // namespace tessera
#endif  // TESSERA_METRICS_STATE_SCORED_EXAMPLES_H_
