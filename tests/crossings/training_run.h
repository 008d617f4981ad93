#ifndef TESSERA_TESTS_CROSSINGS_TRAINING_RUN_H_
#define TESSERA_TESTS_CROSSINGS_TRAINING_RUN_H_
// The meaning of a point for a whole training: a small model and made-up clicks, tables here or on
// ranks, a checkpoint half way through, and what becomes of it: a served model.
#include <cstdint>
#include <map>
#include <string>

#include "runtime/tensor.h"
#include "tests/crossings/point.h"

namespace tessera::testing {

const std::vector<Axis>& TrainingAxes();

// All that can be compared, on the host: every tensor of the checkpoint at the end, by its name,
// "losses", "evaluation", and "scores", what the served model says of some examples.
struct TrainingOutcome {
  std::map<std::string, Tensor> tensors;
  int64_t equal_digests = 0, added_digests = 0;  // where it is held against a record
};

// Throws Error where the library refuses the point. `folder`: for files; made, and removed.
TrainingOutcome RunTrainingPoint(const Point& point, const std::string& folder);
// Runs a verified point again, in a plain loop, or on one rank, against the record that
// RunTrainingPoint has written; with `flips` a bit of a row changes halfway.
TrainingOutcome RunTrainingVerified(const Point& point, const std::string& folder, bool flips);
// Runs the same configuration without ranks.
TrainingOutcome RunTrainingAlone(const Point& point, const std::string& folder);

// The plainest run that has the same bits: from beginning to end without a pipeline, tables in
// memory, a step's examples in one batch, evaluated in the end alone, rows for evaluation in a file
// of their own. Where rows travel by a codec,
// a pipeline sees rows of the step before, or there are ranks, that stays: sums over ranks have
// another order (README.md).
TrainingOutcome RunTrainingPlainly(const Point& point, const std::string& folder);

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_CROSSINGS_TRAINING_RUN_H_
