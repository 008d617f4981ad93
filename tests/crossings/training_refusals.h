#ifndef TESSERA_TESTS_CROSSINGS_TRAINING_REFUSALS_H_
#define TESSERA_TESTS_CROSSINGS_TRAINING_REFUSALS_H_
// Which features of trainings do not go together, and why. What is not listed works.
#include <vector>

#include "tests/crossings/point.h"

namespace tessera::testing {

const std::vector<Refusal>& TrainingRefusals();

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_CROSSINGS_TRAINING_REFUSALS_H_
