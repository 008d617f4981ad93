#ifndef TESSERA_TESTS_TESTING_RANK_BATCHES_H_
#define TESSERA_TESTS_TESTING_RANK_BATCHES_H_
// Batches of several ranks, bag by bag, and the one KeyedJaggedTensor that they are together.
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "sparse/keyed_jagged_tensor.h"

namespace tessera::testing {

// The ids of a key by bags, and which bag each example has.
struct KeyBags {
  std::vector<std::vector<int64_t>> bags;
  std::vector<std::vector<float>> weights;
  std::vector<int64_t> inverse;
};
struct RankBatch {
  int64_t examples = 0;
  std::map<std::string, KeyBags> keys;
};

struct JoinOptions {
  bool weighted = false, weights_need_grad = true;
  bool variable = false;  // distinct bags, and inverse indices
};
// Key by key, and of each key rank by rank.
KeyedJaggedTensor JoinedBatches(Context& ctx, const std::vector<std::string>& keys,
                                std::span<const RankBatch> batches, const JoinOptions& options);

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_TESTING_RANK_BATCHES_H_
