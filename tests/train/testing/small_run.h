#ifndef TESSERA_TESTS_TRAIN_TESTING_SMALL_RUN_H_
#define TESSERA_TESTS_TRAIN_TESTING_SMALL_RUN_H_
// A training of a second or less.
#include <string>

#include "train/config/train_config.h"

namespace tessera::testing {

// Three tables, with rules that keep states of different kinds, on planted rows 0 to 1000,
// evaluated on the next 500.
inline TrainConfig SmallConfig(const std::string& dense = R"({"name": "adam", "lr": 0.01})") {
  return ParseTrainConfig(R"({
    "tables": [
      {"name": "a", "rows": 60, "dim": 4, "features": ["cat_0"], "optimizer": {"name": "adam", "lr": 0.01}},
      {"name": "b", "rows": 50, "dim": 4, "features": ["cat_1", "cat_2"]},
      {"name": "c", "rows": 3, "dim": 4, "pooling": "MEAN", "features": ["cat_9"], "optimizer": {"name": "sgd", "lr": 0.1}}],
    "model": {"type": "dlrm", "dense_arch": [8, 4], "over_arch": [16, 1]},
    "optimizer": {"sparse": {"name": "rowwise_adagrad", "lr": 0.1}, "dense": )" +
                              dense + R"(},
    "data": {"format": "planted", "rows": 1000, "eval_rows": 500, "vocabulary": 50, "strength": 3},
    "train": {"batch_size": 64, "epochs": 2, "seed": 3}})",
                          "small.json");
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_TRAIN_TESTING_SMALL_RUN_H_
