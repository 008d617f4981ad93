#ifndef TESSERA_EMBEDDING_UPDATE_UPDATE_CUDA_H_
#define TESSERA_EMBEDDING_UPDATE_UPDATE_CUDA_H_
// The arguments of an update on a GPU, as plain values that are passed to kernels.
//
// Every row of every table of a call has one key: its table's first key plus its number. The
// occurrences of all tables are sorted by key together. Tables that one launch updates (same rule,
// same lanes for a row) have neighbouring keys: a group.
#include <cstdint>
#include <functional>
#include <vector>

#include "embedding/lookup/row_ops.h"
#include "embedding/update/row_rounding.h"
#include "embedding/update/update.h"
#include "optim/rules/rule.h"

namespace tessera::internal {

// A run of at most this many occurrences is summed by the lanes that update its row; a longer one
// in chunks by lanes all over the device. A multiple of kChunk.
inline constexpr int64_t kShortRun = 4 * kChunk;
inline constexpr uint32_t kNoChunk = ~0u;

// A feature whose gradient a table's rows get. A slot is one row of the gradient (a bag, or an id
// under NONE); all features' slots are numbered together.
struct CudaFeature {
  const void* grad;  // of its group's gradient_type
  int64_t stride, first_bag;
  uint32_t first_slot;
  bool mean;
};

struct CudaTable {
  void* weights;
  void* element_states[kMaxElementStates];
  void* row_states[kMaxRowStates];  // null where the rule's options have none
  uint64_t first_key;
  int32_t dim;
  uint16_t first_feature, num_features;
  DType row_type, element_type;
  DType row_state_types[kMaxRowStates];
  float gradient_scale;
  RowRounding rounding;
};

struct WeightedSlot {
  uint32_t slot;
  float weight;
};
// Occurrences [begin, end) of one row, kChunk of them or, at the row's end, fewer.
struct RowChunk {
  uint32_t begin, end, group;
};
// A run's chunks [first, first + count).
struct LongRun {
  uint32_t first, count;
};

// All of it in device memory. Run r is occurrences [starts[r], starts[r + 1]); the last ends at
// `bound`. Keys at or above all tables' (ids that name no row) come last.
struct SortedRuns {
  const void* keys;
  bool wide_keys;
  const uint32_t* payloads;  // the slot; or, with weights, a place in weighted_slots
  const WeightedSlot* weighted_slots;
  const uint32_t *starts, *num_runs;
  uint32_t bound;
  const uint32_t* group_begin;  // first run of each group, and the end; null: one group, all runs
  // Long runs; null if there can be none. The sum of run r is row run_chunk[r] of chunk_sums.
  const uint32_t* run_chunk;
  float* chunk_sums;
  int64_t chunk_stride;
  const RowChunk* chunks;
  const uint32_t* num_chunks;
  const LongRun* long_runs;
  const uint32_t* num_long_runs;
  IndexArray offsets;

  TESSERA_HD uint64_t Key(uint32_t i) const {
    return wide_keys ? static_cast<const uint64_t*>(keys)[i]
                     : static_cast<const uint32_t*>(keys)[i];
  }
};

// The tables of one launch: neighbours in the order of keys.
struct CudaGroup {
  std::vector<CudaTable> tables;
  std::vector<CudaFeature> features;
  std::vector<int> table_of;  // place of each table in the call
  uint64_t first_key = 0, end_key = 0;
  uint32_t index = 0;
  int width = 4, log_lanes = 0;       // vectors of `width` columns, 2^log_lanes lanes a row
  DType gradient_type = DType::kF32;  // f32, f16 or bf16
  int32_t max_dim = 0;
};

// Arguments of a rule's launcher. `compact`: the rows written are numbered by run, not by key.
struct CudaRows {
  const SortedRuns* runs;
  const CudaGroup* group;
  int64_t step = 0;
  bool compact = false;
  // A recorded step has t of each launch, and the rules of the group's tables; else both are empty.
  std::function<int64_t()> step_of_launch = nullptr;
  std::vector<const AnyRule*> rules = {};
};
// The steps of a group's tables, of their rules as they are then.
template <typename Step>
using StepsAt = std::function<std::vector<Step>(int64_t t)>;

// Applies steps[t] to every row of the group's table t that has occurrences; in the launches of a
// recorded step those of steps_at, which is given where rows.step_of_launch is. Compiled once for
// each rule (update_rule_cuda.cu), or in a user's file (custom_rule.cuh).
template <typename Step>
void UpdateRowsOnCuda(Context& ctx, const CudaRows& rows, const std::vector<Step>& steps,
                      const StepsAt<Step>& steps_at = nullptr);

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_UPDATE_UPDATE_CUDA_H_
