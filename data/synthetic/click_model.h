#ifndef TESSERA_DATA_SYNTHETIC_CLICK_MODEL_H_
#define TESSERA_DATA_SYNTHETIC_CLICK_MODEL_H_
// A made-up world whose truth is known: rows drawn from a click model, so that the best AUC and
// log-loss that any model can reach on them are those of the true probabilities.
//
//   P(click) = sigmoid(bias + scale · score)
//   score = Σ_f effect_f[id_f] + Σ_i slope_i·(log(1 + x_i) − centre) + Σ_(f,g) <u_f[id_f],
//   u_g[id_g]>
//
// Ids follow a power law: value k of a feature has probability ∝ 1 / (k + 1)^zipf; features have
// vocabularies of different sizes, up to the largest. Effects, slopes and vectors are Gaussian.
// bias and scale are set so that the click rate and the standard deviation of the logit are those
// asked for. Row n depends on the seed and n alone (Philox).
#include <cstdint>
#include <vector>

#include "data/click_row.h"
#include "data/synthetic/alias_table.h"

namespace tessera {

struct ClickModelOptions {
  uint64_t seed = 1;
  int64_t vocabulary = 1000;   // of the largest; others 1/3, 1/10, 1/30, 1/100 of it, at least 2
  double zipf = 1.1;           // ≥ 0
  double click_rate = 0.25;    // in (0, 1)
  double missing_rate = 0.05;  // in [0, 1): of each column
  double strength = 1.5;       // ≥ 0: standard deviation of the logit
};

// Throws Error for an option out of its range.
void CheckOptions(const ClickModelOptions& options);

class ClickModel {
 public:
  // Throws Error for an option out of its range.
  explicit ClickModel(const ClickModelOptions& options = {});

  const ClickModelOptions& options() const { return options_; }
  // Row n, n ≥ 0.
  ClickRow Row(int64_t n) const;
  // The true probability of a click, for a row of this model (whatever its label).
  double Probability(const ClickRow& row) const;
  // Distinct values of a feature.
  int64_t vocabulary(int feature) const {
    return static_cast<int64_t>(features_[static_cast<size_t>(feature)].effects.size()) - 1;
  }

 private:
  static constexpr int kPairs = 4;   // features 2k and 2k + 1 interact
  static constexpr int kVector = 4;  // elements of u

  // Entry k is of value k, the last one of a missing value.
  struct Feature {
    AliasTable ids;
    std::vector<float> effects;
    std::vector<float> vectors;  // kVector an entry; empty for features without a partner
  };

  Feature MakeFeature(int feature) const;
  void DrawInputs(int64_t n, ClickRow& row, double& label_uniform) const;
  double Score(const ClickRow& row) const;
  void Calibrate();

  ClickModelOptions options_;
  std::vector<Feature> features_;
  std::vector<float> slopes_;
  double bias_ = 0, scale_ = 1;
};

}  // namespace tessera
#endif  // TESSERA_DATA_SYNTHETIC_CLICK_MODEL_H_
