#ifndef TESSERA_EMBEDDING_UPDATE_UPDATE_REGISTER_ROWS_CUH_
#define TESSERA_EMBEDDING_UPDATE_UPDATE_REGISTER_ROWS_CUH_
// The executor on a GPU for rows that a group of 4 to 32 lanes holds in registers, a vector of 4
// columns a lane: most tables there are. For update_rows.cuh, which updates all others.
//
// A warp takes up to 32 runs at a time, of which each lane finds one (found_rows.cuh). Then each
// group of lanes goes through the runs of its own lanes, kRowsAtOnce at a time: weights, states and
// gradients of all of them are on their way together, and what a rule does once a row (BeginRow) is
// done for all of them at once, by the lanes that found them. Sums over a row are in lane order
// (runtime/numbers/lanes.h), so all bits are those of update_rows.cuh and of the CPU.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "embedding/lookup/bag_ids.cuh"
#include "embedding/update/cuda_row.cuh"
#include "embedding/update/found_rows.cuh"
#include "embedding/update/gradient_sums.cuh"
#include "optim/rules/rule.h"
#include "runtime/context.h"

namespace tessera::internal {

constexpr int kLeastLogLanes = 2;  // 2^2 lanes
constexpr int kLineBytes = 128;    // of the second level of cache

// Blocks that a multiprocessor is to hold, and rows that a group works on at once.
constexpr int kRegisterBlocksHeld = 2;
template <typename Step>
constexpr int kRowsAtOnce = Step::kElementStates == 0 ? 4 : 2;

// Whether the executor can do what the rule asks for.
template <typename Step>
constexpr bool FitsRegisters() {
  using Row = typename Step::Row;
  constexpr bool kLate = requires { Step::kLateStatistics; };
  return !kLate && std::is_default_constructible_v<Row> && std::is_trivially_copyable_v<Row> &&
         (std::is_empty_v<Row> || sizeof(Row) % sizeof(uint32_t) == 0);
}
// Whether a rule only writes rows, and what is in them before is nobody's.
template <typename Step>
constexpr bool IgnoresWeights() {
  return requires { Step::kIgnoresWeights; };
}

// Whether every table of the group has such rows and states.
template <typename Step>
bool RowsFitRegisters(const CudaGroup& group, const std::vector<Step>& steps) {
  if (group.width != kVectorColumns || group.log_lanes < kLeastLogLanes ||
      group.max_dim > kVectorColumns << group.log_lanes)
    return false;
  for (const CudaTable& table : group.tables) {
    if (SizeOf(table.row_type) != SizeOf(group.tables[0].row_type)) return false;
    if (Step::kElementStates > 0 && table.element_type != DType::kF32) return false;
    for (int s = 0; s < Step::kRowStates; ++s)
      if (table.row_states[s] != nullptr && table.row_state_types[s] != DType::kF32) return false;
  }
  if constexpr (requires(const Step& step) { step.max_norm; })
    for (const Step& step : steps)
      if (step.max_norm > 0) return false;
  return true;
}

__device__ __forceinline__ Vector<kVectorColumns> LoadIf(const float* global, bool wanted) {
  const float4 x = LoadGlobalIf(global, wanted);
  return {{x.x, x.y, x.z, x.w}};
}

// ---- sums

// A lane's columns of the sum over a run's occurrences, in chunks (row_ops.h). Each lane of the
// group finds one occurrence, then all read them, kGradsInFlight at a time. All groups of the warp
// go on as long as its longest run: what is past a run's end adds +0, which changes no bit.
template <typename Args>
__device__ __forceinline__ Vector<kVectorColumns> SumOfRun(const Args& a, int table,
                                                           const RunBounds& run, const Lanes& lanes,
                                                           bool has_columns) {
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
      Vector<kVectorColumns> grad[kGradsInFlight];
#pragma unroll
      for (int u = 0; u < kGradsInFlight; ++u) {
        const FoundGradient found = FromLane(own, first_lane + place + u);
        coefficient[u] = found.coefficient;
        grad[u] =
            LoadIf(found.at + lanes.lane * kVectorColumns, found.at != nullptr && has_columns);
      }
#pragma unroll
      for (int u = 0; u < kGradsInFlight; ++u)
#pragma unroll
        for (int k = 0; k < kVectorColumns; ++k)
          sum.v[k] = sum.v[k] + coefficient[u] * grad[u].v[k];
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

// ---- rows

// Rows first_run … first_run + kRows - 1 of those that the lanes of each group have found.
// Row: how a weight is stored, float or 16 bits.
template <typename Step, typename Row, typename Args>
class RegisterRows {
 public:
  static constexpr int kRows = kRowsAtOnce<Step>;

  __device__ __forceinline__ RegisterRows(const Args& a, const Lanes& lanes, float* shared)
      : a_(a), lanes_(lanes), shared_(shared) {}

  __device__ __forceinline__ void Update(FoundRow<Step>& found, int first_run) {
    Ask(found, first_run);
    Prefetch(found, first_run + kRows);
    FinishGradients(found, first_run);
    float sums[kMaxStatistics] = {};
    if constexpr (Step::kStatistics > 0) TakeStatistics(first_run, sums);
    const typename Step::Row begun = Begin(found, first_run, sums);
#pragma unroll
    for (int u = 0; u < kRows; ++u) {
      const int lane = LaneOf(first_run + u);
      Finish(FromLane(begun, lane), FromLane(found.row, lane), u);
    }
  }

 private:
  __device__ __forceinline__ int LaneOf(int run) const {
    return static_cast<int>(threadIdx.x & (kWarp - 1)) - lanes_.lane + run;
  }
  __device__ __forceinline__ const CudaTable& TableOf(int u) const { return a_.tables[table_[u]]; }
  __device__ __forceinline__ bool HasColumns(int u) const { return (has_columns_ >> u & 1) != 0; }
  __device__ __forceinline__ int Column() const { return lanes_.lane * kVectorColumns; }
  __device__ __forceinline__ Vector<kVectorColumns> WeightsOf(int u) const {
    if constexpr (std::is_same_v<Row, float>)
      return {{weight_[u].x, weight_[u].y, weight_[u].z, weight_[u].w}};
    else
      return WidenAny<kVectorColumns>({{weight_[u].x, weight_[u].y, 0, 0}}, TableOf(u).row_type);
  }

  // Everything that the rows need is asked for, and nothing looked at. Lanes without columns have
  // zeros.
  __device__ __forceinline__ void Ask(const FoundRow<Step>& found, int first_run) {
    has_columns_ = 0;
#pragma unroll
    for (int u = 0; u < kRows; ++u) {
      const int lane = LaneOf(first_run + u), table = FromLane(found.table, lane);
      const float* gradient = FromLane(found.gradient.at, lane);
      const int64_t at = FromLane(found.first, lane) + Column();
      table_[u] = table < 0 ? 0 : table;
      const bool has_columns = table >= 0 && Column() < TableOf(u).dim;
      has_columns_ |= static_cast<unsigned>(has_columns) << u;
      grad_[u] = LoadIf(gradient + Column(), has_columns);
      if constexpr (!IgnoresWeights<Step>())
        weight_[u] = LoadGlobalIf(static_cast<const Row*>(TableOf(u).weights) + at, has_columns);
      else
        weight_[u] = {};
#pragma unroll
      for (int s = 0; s < Step::kElementStates; ++s)
        state_[u][s] =
            LoadIf(static_cast<const float*>(TableOf(u).element_states[s]) + at, has_columns);
    }
  }

  // Asks for the next rows' gradients, weights and states to be brought to the second level of
  // cache, a line of 128 bytes a lane, so that memory is busy while these rows are worked on.
  __device__ __forceinline__ void Prefetch(const FoundRow<Step>& found, int first_run) const {
    if (first_run >= a_.runs_of_group) return;
    constexpr int kStreams = 2 + Step::kElementStates, kLineFloats = kLineBytes / 4;
    const int lines = std::max(1, lanes_.count() * kVectorColumns / kLineFloats),
              wanted = kRows * kStreams * lines;
    for (int begin = 0; begin < wanted; begin += lanes_.count()) {
      const int i = begin + lanes_.lane, stream = i / lines % kStreams,
                lane = LaneOf(std::min(first_run + i / (lines * kStreams), lanes_.count() - 1)),
                table = FromLane(found.table, lane);
      const float* gradient = FromLane(found.gradient.at, lane);
      const int64_t first = FromLane(found.first, lane) + i % lines * kLineFloats;
      if (table < 0 || i >= wanted) continue;
      const CudaTable& of = a_.tables[table];
      if (stream == 0)
        PrefetchL2(gradient + i % lines * kLineFloats);
      else if (stream == 1)
        PrefetchL2(static_cast<const Row*>(of.weights) + first);
      else
        PrefetchL2(static_cast<const float*>(of.element_states[stream - 2]) + first);
    }
  }

  // The summed gradients, scaled.
  __device__ __forceinline__ void FinishGradients(const FoundRow<Step>& found, int first_run) {
#pragma unroll
    for (int u = 0; u < kRows; ++u) {
      float coefficient = 1.0f;
      if (a_.has_coefficients)
        coefficient = FromLane(found.gradient.coefficient, LaneOf(first_run + u));
#pragma unroll
      for (int k = 0; k < kVectorColumns; ++k) grad_[u].v[k] = 0.0f + coefficient * grad_[u].v[k];
    }
    const int own = lanes_.lane - first_run;
    if (__any_sync(~0u, own >= 0 && own < kRows && found.run.end - found.run.begin > 1))
      SumRuns(found, first_run);
    if (!a_.has_scales) return;
#pragma unroll
    for (int u = 0; u < kRows; ++u) {
      const float scale = TableOf(u).gradient_scale;
#pragma unroll
      for (int k = 0; k < kVectorColumns; ++k) grad_[u].v[k] = scale * grad_[u].v[k];
    }
  }
  // The sums of those runs that have several occurrences.
  __device__ __forceinline__ void SumRuns(const FoundRow<Step>& found, int first_run) {
#pragma unroll 1
    for (int u = 0; u < kRows; ++u) {
      const int lane = LaneOf(first_run + u), table = FromLane(found.table, lane);
      RunBounds run = FromLane(found.run, lane);
      const bool is_sum = run.end - run.begin > 1;
      if (!is_sum) run = {0, 0};
      if (!__any_sync(~0u, is_sum)) continue;
      const bool has_columns = is_sum && Column() < a_.tables[table].dim;
      const Vector<kVectorColumns> sum = SumOfRun(a_, table, run, lanes_, has_columns);
#pragma unroll
      for (int v = 0; v < kRows; ++v)
        if (v == u && is_sum) grad_[v] = sum;
    }
  }

  // The sums of the row that a lane has found.
  __device__ __forceinline__ void TakeStatistics(int first_run, float* sums) const {
    Vector<kVectorColumns> terms[Step::kStatistics][kRows];
#pragma unroll
    for (int u = 0; u < kRows; ++u) {
      const Step step = a_.steps[table_[u]];
      const Vector<kVectorColumns> weights = WeightsOf(u);
#pragma unroll
      for (int i = 0; i < kVectorColumns; ++i) {
        float of_column[Step::kStatistics];
        step.Statistics(RowElement<float>{weights.v[i], grad_[u].v[i]}, of_column);
#pragma unroll
        for (int k = 0; k < Step::kStatistics; ++k) terms[k][u].v[i] = of_column[k];
      }
    }
    const int own = lanes_.lane - first_run;
#pragma unroll
    for (int k = 0; k < Step::kStatistics; ++k) {
      if (lanes_.count() == kWarp) {
        sums[k] = SumOfWarp(terms[k], own, shared_ + k * kRows * kWarp * kVectorColumns);
        continue;
      }
#pragma unroll
      for (int u = 0; u < kRows; ++u) {
        const float sum = SumOfGroup(lanes_, terms[k][u]);
        if (own == u) sums[k] = sum;
      }
    }
  }

  // Does what is done once a row, by the lane that has found it.
  __device__ __forceinline__ typename Step::Row Begin(FoundRow<Step>& found, int first_run,
                                                      const float* sums) const {
    typename Step::Row begun = {};
    const int own = lanes_.lane - first_run;
    if (own < 0 || own >= kRows || found.table < 0) return begun;
    const CudaTable& table = a_.tables[found.table];
    begun = a_.steps[found.table].BeginRow(sums, table.dim, found.states);
#pragma unroll
    for (int s = 0; s < Step::kRowStates; ++s)
      if (table.row_states[s] != nullptr)
        static_cast<float*>(table.row_states[s])[found.row] = found.states[s];
    return begun;
  }

  __device__ __forceinline__ void Finish(const typename Step::Row& begun, int64_t row,
                                         int u) const {
    const Step step = a_.steps[table_[u]];
    Vector<kVectorColumns> value = WeightsOf(u), state[kMaxElementStates];
#pragma unroll
    for (int k = 0; k < kVectorColumns; ++k) {
      float element[kMaxElementStates] = {};
#pragma unroll
      for (int s = 0; s < Step::kElementStates; ++s) element[s] = state_[u][s].v[k];
      RowElement<float> x = {value.v[k], grad_[u].v[k]};
      step.Update(begun, x, element);
      value.v[k] = x.w;
#pragma unroll
      for (int s = 0; s < Step::kElementStates; ++s) state[s].v[k] = element[s];
    }
    if (!HasColumns(u)) return;
    const CudaRow<Args> at = {a_, TableOf(u), row};
    if constexpr (std::is_same_v<Row, float>)
      StoreVector(static_cast<float*>(at.table.weights) + at.At(Column()), value);
    else
      at.Store(Column(), value);
#pragma unroll
    for (int s = 0; s < Step::kElementStates; ++s)
      StoreVector(static_cast<float*>(at.table.element_states[s]) + at.At(Column()), state[s]);
  }

  const Args& a_;
  const Lanes& lanes_;
  float* shared_;
  int table_[kRows];  // 0 where there is no row
  unsigned has_columns_ = 0;
  Vector<kVectorColumns> grad_[kRows], state_[kRows][kMaxElementStates];
  std::conditional_t<std::is_same_v<Row, float>, float4, uint2> weight_[kRows];  // as stored
};

// a.runs_of_group runs of each group of lanes in a round.
template <typename Step, typename Row, typename Args>
__device__ __forceinline__ void UpdateRegisterRows(const Args& a, float* shared) {
  const Lanes lanes(a.log_lanes);
  const RunsOfGroup<Args> runs(a, *a.runs.num_runs);
  const uint32_t runs_of_warp = static_cast<uint32_t>((kWarp >> a.log_lanes) * a.runs_of_group),
                 warps = kUpdateThreads / kWarp, stride = gridDim.x * warps * runs_of_warp,
                 group = (threadIdx.x & (kWarp - 1)) >> a.log_lanes;
  // The lane's own run of a round that begins with `first`; none for lanes that have none.
  const bool finds = lanes.lane < a.runs_of_group;
  const uint32_t place =
      group * static_cast<uint32_t>(a.runs_of_group) + static_cast<uint32_t>(lanes.lane);
  const auto own = [&](uint32_t first) { return finds ? runs.After(first, place) : runs.end(); };
  uint32_t first =
      runs.After(runs.begin(), (blockIdx.x * warps + threadIdx.x / kWarp) * runs_of_warp);
  RunHead head = runs.AskForHead(runs.AskForBounds(own(first)), own(first));
  RunBounds next = runs.AskForBounds(own(runs.After(first, stride)));
  RegisterRows<Step, Row, Args> rows(a, lanes, shared);
  while (first < runs.end()) {
    FoundRow<Step> found = runs.template Find<Step>(head, own(first));
    first = runs.After(first, stride);
    head = runs.AskForHead(next, own(first));
    next = runs.AskForBounds(own(runs.After(first, stride)));
#pragma unroll 1
    for (int run = 0; run < a.runs_of_group; run += kRowsAtOnce<Step>) rows.Update(found, run);
  }
}

// ---- the host's side

// Returns how many runs a group of lanes takes a round: all that its lanes can find where there are
// many, fewer where the device would not be filled.
inline int RunsOfRound(Context& ctx, const CudaGroup& group, int64_t most_runs) {
  const int64_t warps_held = int64_t{24} * PropertiesOf(ctx.device()).multiprocessors;
  int runs = 1 << group.log_lanes;
  while (runs > 1 && most_runs < warps_held * (kWarp >> group.log_lanes) * runs) runs /= 2;
  return runs;
}

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_UPDATE_UPDATE_REGISTER_ROWS_CUH_
