#ifndef TESSERA_SHARDING_EXCHANGE_ROW_SPLIT_H_
#define TESSERA_SHARDING_EXCHANGE_ROW_SPLIT_H_
// Bags of ids cut by blocks of rows: the ids of a feature that lie in each block, less the block's
// first row, in the order of the batch. Every id is looked at twice: to be counted, and to be
// placed.
//
//   ids [0 5 9] [4]   blocks from rows 0, 4, 8   ->   [0] []   [1] [0]   [1] []
//
// Ids that no row has yet (hash_parts.h) lie where the rows of their part do, and stay as they are.
#include <cstdint>
#include <span>
#include <vector>

#include "embedding/lookup/row_ops.h"
#include "runtime/tensor.h"
#include "sharding/plan/hash_parts.h"

namespace tessera {

// One feature's bags, and the blocks. Ids below the first block or from `end` on are left out.
struct SplitBags {
  Tensor ids;         // i32 or i64
  int64_t begin = 0;  // place of the feature's first id
  int64_t first_bag = 0, num_bags = 0;
  std::vector<int64_t> rows;  // where blocks begin, ascending
  int64_t end = 0;
  HashParts parts = {};  // if there are some, of the ids
};

// Destination of the ids of a block, of the same type as they came; places among the feature's ids,
// and weights if there are some.
struct SplitPlace {
  void* ids = nullptr;
  int32_t* positions = nullptr;
  float* weights = nullptr;
};

class RowSplit {
 public:
  // Counts. `offsets` are those of all bags. Waits for a device.
  RowSplit(Context& ctx, const Tensor& offsets, std::vector<SplitBags> features);

  // Ids in a block.
  int64_t count(size_t feature, size_t block) const { return counts_[At(feature, block)]; }
  // Ids of each bag in a block: [num_bags] i32.
  Tensor lengths(size_t feature, size_t block) const;
  // weights: of all ids, or null. places: one a block, feature after feature. Once.
  void Place(Context& ctx, const float* weights, const std::vector<SplitPlace>& places);

 private:
  size_t At(size_t feature, size_t block) const { return first_block_[feature] + block; }

  std::vector<SplitBags> features_;
  std::vector<size_t> first_block_;  // of each feature
  std::vector<int64_t> first_length_, counts_;
  Tensor bag_offsets_, lengths_;
  Tensor places_;  // i64: where the next id of a bag and block goes
};

}  // namespace tessera
#endif  // TESSERA_SHARDING_EXCHANGE_ROW_SPLIT_H_
