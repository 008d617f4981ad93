#ifndef TESSERA_TESTS_DATA_TESTING_BATCH_TENSORS_H_
#define TESSERA_TESTS_DATA_TESTING_BATCH_TENSORS_H_
// The tensors of a batch, for whoever compares two.
#include <utility>
#include <vector>

#include "data/data_source.h"
#include "runtime/context.h"

namespace tessera::testing {

// All tensors by name, in one order; undefined ones stand for those that the batch has not.
inline std::vector<std::pair<const char*, Tensor>> NamedTensorsOf(Context& ctx,
                                                                  const Batch& batch) {
  const KeyedJaggedTensor& ids = batch.features;
  return {{"dense", batch.dense},
          {"labels", batch.labels},
          {"weights of rows", batch.weights},
          {"time", batch.time},
          {"ids", ids.values()},
          {"lengths", ids.lengths(ctx)},
          {"weights of ids", ids.is_weighted() ? ids.weights().value() : Tensor()}};
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_DATA_TESTING_BATCH_TENSORS_H_
