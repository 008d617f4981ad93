#ifndef TESSERA_EMBEDDING_UPDATE_FOUND_ROWS_CUH_
#define TESSERA_EMBEDDING_UPDATE_FOUND_ROWS_CUH_
// A run of occurrences and its row, as one lane of a warp finds them: its table, its number, its
// first gradient and its per-row states, which other lanes read in shared memory; and the sum of
// the gradients of a run of several occurrences. For update_register_rows.cuh.
//
// A lane asks for a run's bounds a round before it asks for the rest, and for the rest a round
// before it looks at it, so that it waits for neither.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "embedding/lookup/bag_ids.cuh"
#include "embedding/update/gradient_sums.cuh"

namespace tessera::internal {

// The value of another lane of the warp, all of which call this together.
template <typename T>
__device__ __forceinline__ T FromLane(const T& value, int lane) {
  T result = value;
  if constexpr (!std::is_empty_v<T>) {
    uint32_t words[sizeof(T) / sizeof(uint32_t)];
    std::memcpy(words, &value, sizeof(T));
#pragma unroll
    for (uint32_t& word : words) word = __shfl_sync(~0u, word, lane);
    std::memcpy(&result, words, sizeof(T));
  }
  return result;
}

// Where the gradient of one occurrence lies, and its factor.
struct FoundGradient {
  const void* at;  // elements of the gradients; floats, if it is a long run's sum
  float coefficient;
};
template <typename Args>
__device__ __forceinline__ FoundGradient FindGradient(const Args& a, const CudaTable& table,
                                                      uint32_t payload) {
  uint32_t slot = payload;
  float coefficient = 1.0f;
  if (a.runs.weighted_slots != nullptr) {
    const WeightedSlot weighted = a.runs.weighted_slots[payload];
    slot = weighted.slot;
    coefficient = weighted.weight;
  }
  const CudaFeature& feature = a.features[FeatureOf(a, table, slot)];
  const int64_t row = slot - feature.first_slot;
  if (feature.mean) {
    const int64_t bag = feature.first_bag + row;
    coefficient = coefficient * MeanScale(a.runs.offsets[bag + 1] - a.runs.offsets[bag]);
  }
  return {static_cast<const typename Args::Grad*>(feature.grad) + row * feature.stride,
          coefficient};
}

// A run as it is asked for: its bounds a round before the rest.
struct alignas(8) RunBounds {
  uint32_t begin, end;  // both 0: no run
};
struct RunHead {
  RunBounds run;
  uint32_t payload;  // of the first occurrence; or, of a long run, the place of its sum
  bool is_long;
  uint64_t key;
};
// A run's row, of which `table` is -1 if there is none.
template <typename Step>
struct FoundRow {
  static constexpr int kStates = Step::kRowStates > 0 ? Step::kRowStates : 1;
  RunBounds run;  // none, if `gradient` is its sum
  int table;
  int64_t row, first;      // its number, and that of its first element
  FoundGradient gradient;  // of the first occurrence
  float states[kStates];
};

// The rows that the lanes of a warp have found, in shared memory. Lanes that read those of other
// groups, or each its own, meet in no bank: 8-byte members of lanes 16 on lie 8 bytes further.
template <typename Step>
class FoundRows {
 public:
  __device__ __forceinline__ void Put(int lane, const FoundRow<Step>& found) {
    gradient_[Wide(lane)] = found.gradient.at;
    first_[Wide(lane)] = found.first;
    row_[Wide(lane)] = found.row;
    run_[Wide(lane)] = found.run;
    table_[lane] = found.table;
    coefficient_[lane] = found.gradient.coefficient;
#pragma unroll
    for (int s = 0; s < Step::kRowStates; ++s) states_[s][lane] = found.states[s];
  }
  __device__ __forceinline__ const void* gradient(int lane) const { return gradient_[Wide(lane)]; }
  __device__ __forceinline__ int64_t first(int lane) const { return first_[Wide(lane)]; }
  __device__ __forceinline__ int64_t row(int lane) const { return row_[Wide(lane)]; }
  __device__ __forceinline__ RunBounds run(int lane) const { return run_[Wide(lane)]; }
  __device__ __forceinline__ int table(int lane) const { return table_[lane]; }
  __device__ __forceinline__ float coefficient(int lane) const { return coefficient_[lane]; }
  __device__ __forceinline__ float state(int s, int lane) const { return states_[s][lane]; }

 private:
  static constexpr int kWide = kWarp + 1;
  static __device__ __forceinline__ int Wide(int lane) { return lane + lane / 16; }

  const void* gradient_[kWide];
  int64_t first_[kWide], row_[kWide];
  RunBounds run_[kWide];
  int table_[kWarp];
  float coefficient_[kWarp];
  float states_[FoundRow<Step>::kStates][kWarp];
};

// Runs as single lanes ask for them; `end` stands for none.
template <typename Args>
class RunsOfGroup {
 public:
  __device__ __forceinline__ RunsOfGroup(const Args& a, uint32_t num_runs)
      : a_(a), num_runs_(num_runs) {
    const bool bounded = a.runs.group_begin != nullptr;
    begin_ = bounded ? a.runs.group_begin[a.index] : 0;
    end_ = bounded ? a.runs.group_begin[a.index + 1] : num_runs;
  }
  __device__ __forceinline__ uint32_t begin() const { return begin_; }
  __device__ __forceinline__ uint32_t end() const { return end_; }
  // r + by, or end.
  __device__ __forceinline__ uint32_t After(uint32_t r, uint32_t by) const {
    return end_ - r <= by ? end_ : r + by;
  }

  __device__ __forceinline__ RunBounds AskForBounds(uint32_t r) const {
    if (r >= end_) return {0, 0};
    return {a_.runs.starts[r], r + 1 < num_runs_ ? a_.runs.starts[r + 1] : a_.runs.bound};
  }
  __device__ __forceinline__ RunHead AskForHead(const RunBounds& run, uint32_t r) const {
    RunHead head = {run, 0, false, ~uint64_t{0}};
    if (run.begin == run.end) return head;
    head.key = a_.runs.Key(run.begin);
    head.payload = a_.runs.payloads[run.begin];
    if (a_.runs.run_chunk == nullptr || run.end - run.begin <= kShortRun) return head;
    head.payload = a_.runs.run_chunk[r];
    head.is_long = true;
    return head;
  }
  template <typename Step>
  __device__ __forceinline__ FoundRow<Step> Find(const RunHead& head, uint32_t r) const {
    FoundRow<Step> found = {{0, 0}, -1, 0, 0, {nullptr, 1.0f}, {}};
    if (head.key >= a_.end_key) return found;  // no run, or that of ids that name no row
    found.table = TableOf(a_, head.key);
    const CudaTable& table = a_.tables[found.table];
    found.row = a_.compact ? int64_t{r} : static_cast<int64_t>(head.key - table.first_key);
    found.first = found.row * table.dim;
#pragma unroll
    for (int s = 0; s < Step::kRowStates; ++s)
      if (table.row_states[s] != nullptr)
        found.states[s] = static_cast<const float*>(table.row_states[s])[found.row];
    if (head.is_long) {  // its sum stands for its only occurrence
      found.gradient.at = a_.runs.chunk_sums + head.payload * a_.runs.chunk_stride;
    } else {
      found.gradient = FindGradient(a_, table, head.payload);
      found.run = head.run;
    }
    return found;
  }

 private:
  const Args& a_;
  uint32_t num_runs_, begin_, end_;
};

// ---- runs of several occurrences

// A lane's columns of the sum over a run's occurrences, in chunks (row_ops.h). Each lane of the
// group finds one occurrence, then all read them, kGradsInFlight at a time. All groups of the warp
// go on as long as its longest run: what is past a run's end adds +0, which changes no bit.
template <typename Args>
__device__ __forceinline__ Vector<kVectorColumns> SumOfRun(const Args& a, int table,
                                                           const RunBounds& run, const Lanes& lanes,
                                                           bool has_columns) {
  using Grad = typename Args::Grad;
  const int first_lane = static_cast<int>(threadIdx.x & (kWarp - 1)) - lanes.lane;
  const auto count = static_cast<uint32_t>(lanes.count());
  const uint32_t longest = LongestOfWarp(run.end - run.begin);
  Vector<kVectorColumns> total = {}, sum = {};
  for (uint32_t done = 0; done < longest; done += count) {
    const uint32_t i = run.begin + done + static_cast<uint32_t>(lanes.lane);
    FoundGradient own = {nullptr, 0};
    if (i < run.end) own = FindGradient(a, a.tables[table], a.runs.payloads[i]);
    const auto places = static_cast<int>(std::min(count, longest - done));
#pragma unroll 1
    for (int place = 0; place < places; place += kGradsInFlight) {
      float coefficient[kGradsInFlight];
      RawVector<kVectorColumns, Grad> grad[kGradsInFlight];
#pragma unroll
      for (int u = 0; u < kGradsInFlight; ++u) {
        const FoundGradient found = FromLane(own, first_lane + place + u);
        coefficient[u] = found.coefficient;
        grad[u] = {LoadGlobalIf(static_cast<const Grad*>(found.at) + lanes.lane * kVectorColumns,
                                found.at != nullptr && has_columns)};
      }
#pragma unroll
      for (int u = 0; u < kGradsInFlight; ++u) {
        const auto wide = WidenAs<kVectorColumns>(grad[u], a.gradient_type);
#pragma unroll
        for (int k = 0; k < kVectorColumns; ++k) sum.v[k] = sum.v[k] + coefficient[u] * wide.v[k];
      }
    }
    if ((done + count) % kChunk != 0) continue;
#pragma unroll
    for (int k = 0; k < kVectorColumns; ++k) total.v[k] = total.v[k] + sum.v[k];
    sum = {};
  }
#pragma unroll
  for (int k = 0; k < kVectorColumns; ++k) total.v[k] = total.v[k] + sum.v[k];
  return total;
}

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_UPDATE_FOUND_ROWS_CUH_
