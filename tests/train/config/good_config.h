#ifndef TESSERA_TESTS_TRAIN_CONFIG_GOOD_CONFIG_H_
#define TESSERA_TESTS_TRAIN_CONFIG_GOOD_CONFIG_H_
// A training configuration that names almost every key, and texts near it.
#include <gtest/gtest.h>

#include <string>

namespace tessera::testing {

inline constexpr char kGood[] = R"({
  "tables": [
    {"name": "a", "rows": 10, "dim": 4, "pooling": "MEAN", "features": ["cat_0", "cat_3"], "dtype": "f16",
     "state_dtype": "bf16", "stochastic_rounding": true,
     "init_range": [-0.1, 0.2], "optimizer": {"name": "adam", "lr": 0.5, "beta1": 0.8, "use_rowwise_bias_correction": true}},
    {"name": "b", "rows": 20, "dim": 4, "features": ["cat_25"]}],
  "model": {"type": "dlrm", "dense_in": 13, "dense_arch": [8, 4], "over_arch": [8, 1]},
  "optimizer": {"sparse": {"name": "rowwise_adagrad", "lr": 0.02, "weight_decay": 0.1, "weight_decay_mode": "L2"},
                "dense": {"name": "adam", "lr": 0.25, "amsgrad": true},
                "warmup": [{"policy": "linear", "max_iters": 10, "value": 0.5},
                           {"policy": "step", "max_iters": 20, "value": 0.25, "decay_iters": 4, "lr_scale": 2}],
                "gradient_clipping": {"mode": "norm", "max_gradient": 0.75, "norm_type": "inf"}},
  "data": {"format": "criteo", "missing": "empty_bag"},
  "train": {"batch_size": 32, "epochs": 3, "seed": 7}})";

// kGood with one piece of text replaced.
inline std::string With(const std::string& from, const std::string& to) {
  std::string text = kGood;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_TRAIN_CONFIG_GOOD_CONFIG_H_
