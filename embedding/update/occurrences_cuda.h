#ifndef TESSERA_EMBEDDING_UPDATE_OCCURRENCES_CUDA_H_
#define TESSERA_EMBEDDING_UPDATE_OCCURRENCES_CUDA_H_
// The occurrences of all tables' rows in a batch, sorted by key, cut into runs and chunks, on a
// GPU. The host never waits: sizes stay on the device, buffers are as large as could be needed.
//
// The workspace is one allocation, and two more that CUB asks for. With N the number of ids that
// features read: 24 bytes an id (32 with keys of 64 bits), 8 more with per-sample weights, and at
// most N/51 sums of one row for long runs. Up to 1,024 ids are sorted by one block in one launch.
#include <vector>

#include "embedding/update/update_cuda.h"
#include "runtime/tensor.h"

namespace tessera::internal {

// A feature as its ids are collected, in the order in which occurrences are added.
struct CollectedFeature {
  IndexArray ids;
  int64_t num_rows, first_bag;
  uint64_t first_key;  // of its table
  uint32_t first_slot, num_bags;
  bool slot_an_id;  // pooling NONE
};

struct OccurrencePlan {
  std::vector<CollectedFeature> features;
  IndexArray offsets;
  const float* weights = nullptr;
  int64_t most_ids = 0;  // that the features can have together
  int64_t total_bags = 0;
  uint64_t end_key = 0;
  std::vector<uint64_t> group_keys;  // first key of each group
  int64_t chunk_stride = 0;          // floats of a row's sum: the largest dim
};

template <typename Key>
struct OccurrencePointers {
  Key* keys;
  uint32_t* payloads;
  WeightedSlot* weighted;  // null without weights
};

// Holds the memory that its runs() point to.
class OccurrencesOnCuda {
 public:
  OccurrencesOnCuda(Context& ctx, const OccurrencePlan& plan);
  const SortedRuns& runs() const { return runs_; }
  bool may_have_long_runs() const { return runs_.run_chunk != nullptr; }

 private:
  template <typename Key>
  void Build(Context& ctx, const OccurrencePlan& plan);

  SortedRuns runs_ = {};
  Tensor workspace_;
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_UPDATE_OCCURRENCES_CUDA_H_
