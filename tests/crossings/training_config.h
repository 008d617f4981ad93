#ifndef TESSERA_TESTS_CROSSINGS_TRAINING_CONFIG_H_
#define TESSERA_TESTS_CROSSINGS_TRAINING_CONFIG_H_
// The configuration of a point of trainings: a small model on made-up clicks.
#include <cstdint>

#include "tests/crossings/point.h"
#include "train/config/train_config.h"

namespace tessera::testing {

inline constexpr int64_t kTrainingParts = 4;  // of a table of raw ids over ranks
inline constexpr int64_t kTrainingSteps = 6;  // of the epoch; about as many where rows are split

// Throws Error where accumulation is refused.
TrainConfig TrainingConfigOf(const Point& point);

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_CROSSINGS_TRAINING_CONFIG_H_
