#ifndef TESSERA_EMBEDDING_UPDATE_UPDATE_REGISTER_ROWS_CUH_
#define TESSERA_EMBEDDING_UPDATE_UPDATE_REGISTER_ROWS_CUH_
// The executor on a GPU for rows that a group of 4 to 32 lanes holds in registers, a vector of 4
// columns a lane: most tables there are. For update_rows.cuh, which updates all others.
//
// A warp takes up to 32 runs at a time, of which each lane finds one (found_rows.cuh). Then each
// group of lanes goes through the runs of its own lanes, kRowsAtOnce at a time: while it works on
// these, weights, states and first gradients of the next ones are copied to shared memory. What a
// rule does once a row (BeginRow) is done for all of them at once, by the lanes that found them.
// Sums over a row are in lane order (runtime/numbers/lanes.h), so all bits are those of
// update_rows.cuh and of the CPU.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "embedding/update/cuda_row.cuh"
#include "embedding/update/found_rows.cuh"
#include "embedding/update/gradient_sums.cuh"
#include "optim/rules/rule.h"
#include "runtime/context.h"

namespace tessera::internal {

constexpr int kLeastLogLanes = 2;  // 2^2 lanes

// Blocks that a multiprocessor is to hold, small ones, so that most of its shared memory is used
// whatever its size; and rows that a group works on at once.
constexpr int kRegisterThreads = 128, kRegisterBlocksHeld = 4;
template <typename Step>
constexpr int kRowsAtOnce = Step::kElementStates == 0 ? 4 : 2;

// Shared memory of a warp: the rows of the round that is worked on and of the one after; and for
// each row that is worked on or comes next its gradient, weights and states, a vector a lane.
template <typename Step>
struct WarpRows {
  static constexpr int kStreams = 2 + Step::kElementStates;
  using Stage = float[kRowsAtOnce<Step>][kStreams][kWarp][kVectorColumns];
  alignas(16) Stage stages[2];
  FoundRows<Step> found[2];
};
template <typename Step>
constexpr size_t kRegisterRowsShared = kRegisterThreads / kWarp * sizeof(WarpRows<Step>);

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

// ---- rows

// Updates the rows that the lanes of a warp find, in rounds: rows first_run … first_run + kRows - 1
// of each group's lanes are asked for, then, in the same order, updated. Row: how a weight is
// stored, float or 16 bits.
template <typename Step, typename Row, typename Args>
class RegisterRows {
 public:
  static constexpr int kRows = kRowsAtOnce<Step>;

  __device__ __forceinline__ RegisterRows(const Args& a, const Lanes& lanes, WarpRows<Step>& shared)
      : a_(a), lanes_(lanes), shared_(shared) {}

  // Takes the lane's own row of the next round, which Ask then speaks of.
  __device__ __forceinline__ void BeginRound(const FoundRow<Step>& found) {
    round_ ^= 1;
    shared_.found[round_].Put(Self(), found);
    __syncwarp();
  }

  // Lanes without columns get zeros.
  __device__ __forceinline__ void Ask(int first_run) {
    const FoundRows<Step>& found = shared_.found[round_];
#pragma unroll
    for (int u = 0; u < kRows; ++u) {
      const int lane = LaneOf(first_run + u), table = found.table(lane);
      const int64_t at = found.first(lane) + Column();
      const CudaTable& of = a_.tables[table < 0 ? 0 : table];
      const bool wanted = table >= 0 && Column() < of.dim;
      AskForGradient(found, lane, wanted, u);
      if constexpr (!IgnoresWeights<Step>())
        CopyAsyncIf<kVectorColumns * sizeof(Row)>(Staged(u, 1),
                                                  static_cast<const Row*>(of.weights) + at, wanted);
#pragma unroll
      for (int s = 0; s < Step::kElementStates; ++s)
        CopyAsyncIf<16>(Staged(u, 2 + s), static_cast<const float*>(of.element_states[s]) + at,
                        wanted);
    }
    CommitCopies();
    stage_ ^= 1;
  }

  // Updates the rows of a round that were asked for before the last ones.
  __device__ __forceinline__ void Update(int round, int first_run) {
    const FoundRows<Step>& found = shared_.found[round];
    Take(found, first_run);
    FinishGradients(found, first_run);
    float sums[kMaxStatistics] = {};
    if constexpr (Step::kStatistics > 0) TakeStatistics(first_run, sums);
    const typename Step::Row begun = Begin(found, first_run, sums);
#pragma unroll
    for (int u = 0; u < kRows; ++u) {
      const int lane = LaneOf(first_run + u);
      Finish(FromLane(begun, lane), found, lane, u);
    }
  }
  __device__ __forceinline__ int round() const { return round_; }

 private:
  using Grad = typename Args::Grad;
  using Stored = std::conditional_t<std::is_same_v<Row, float>, float4, uint2>;

  static __device__ __forceinline__ int Self() {
    return static_cast<int>(threadIdx.x & (kWarp - 1));
  }
  __device__ __forceinline__ int LaneOf(int run) const { return Self() - lanes_.lane + run; }
  __device__ __forceinline__ const CudaTable& TableOf(int u) const { return a_.tables[table_[u]]; }
  __device__ __forceinline__ bool HasColumns(int u) const { return (has_columns_ >> u & 1) != 0; }
  __device__ __forceinline__ int Column() const { return lanes_.lane * kVectorColumns; }
  __device__ __forceinline__ Vector<kVectorColumns> WeightsOf(int u) const {
    if constexpr (std::is_same_v<Row, float>)
      return {{weight_[u].x, weight_[u].y, weight_[u].z, weight_[u].w}};
    else
      return WidenAny<kVectorColumns>({{weight_[u].x, weight_[u].y, 0, 0}}, TableOf(u).row_type);
  }

  // Where the lane's vector of a row lies: of its gradient (stream 0), weights (1) or state s
  // (2 + s).
  __device__ __forceinline__ float* Staged(int u, int stream) const {
    return shared_.stages[stage_][u][stream][Self()];
  }
  // Whether the gradient of a row is of 16 bits: that of an occurrence, not a long run's sum.
  __device__ __forceinline__ static bool IsNarrow(const FoundRows<Step>& found, int lane) {
    if constexpr (std::is_same_v<Grad, float>) return false;
    const RunBounds run = found.run(lane);
    return run.begin != run.end;
  }
  __device__ __forceinline__ void AskForGradient(const FoundRows<Step>& found, int lane,
                                                 bool wanted, int u) const {
    const void* gradient = found.gradient(lane);
    if (IsNarrow(found, lane))
      CopyAsyncIf<8>(Staged(u, 0), static_cast<const Grad*>(gradient) + Column(), wanted);
    else
      CopyAsyncIf<16>(Staged(u, 0), static_cast<const float*>(gradient) + Column(), wanted);
  }
  __device__ __forceinline__ Vector<kVectorColumns> StagedGradient(const FoundRows<Step>& found,
                                                                   int lane, int u) const {
    if (IsNarrow(found, lane))
      return WidenAs<kVectorColumns>(
          LoadRaw<kVectorColumns>(reinterpret_cast<const Grad*>(Staged(u, 0))), a_.gradient_type);
    return LoadVector<kVectorColumns>(Staged(u, 0));
  }
  __device__ __forceinline__ void Take(const FoundRows<Step>& found, int first_run) {
    WaitForCopies<1>();
    has_columns_ = 0;
#pragma unroll
    for (int u = 0; u < kRows; ++u) {
      const int table = found.table(LaneOf(first_run + u));
      table_[u] = table < 0 ? 0 : table;
      const bool has_columns = table >= 0 && Column() < TableOf(u).dim;
      has_columns_ |= static_cast<unsigned>(has_columns) << u;
      grad_[u] = StagedGradient(found, LaneOf(first_run + u), u);
      weight_[u] = {};
      if constexpr (!IgnoresWeights<Step>())
        weight_[u] = *reinterpret_cast<const Stored*>(Staged(u, 1));
#pragma unroll
      for (int s = 0; s < Step::kElementStates; ++s)
        state_[u][s] = LoadVector<kVectorColumns>(Staged(u, 2 + s));
    }
  }

  // The summed gradients, scaled.
  __device__ __forceinline__ void FinishGradients(const FoundRows<Step>& found, int first_run) {
#pragma unroll
    for (int u = 0; u < kRows; ++u) {
      const float coefficient =
          a_.has_coefficients ? found.coefficient(LaneOf(first_run + u)) : 1.0f;
#pragma unroll
      for (int k = 0; k < kVectorColumns; ++k) grad_[u].v[k] = 0.0f + coefficient * grad_[u].v[k];
    }
    const int own = lanes_.lane - first_run;
    const RunBounds run = found.run(Self());
    if (__any_sync(~0u, own >= 0 && own < kRows && run.end - run.begin > 1))
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
  __device__ __forceinline__ void SumRuns(const FoundRows<Step>& found, int first_run) {
#pragma unroll 1
    for (int u = 0; u < kRows; ++u) {
      const int lane = LaneOf(first_run + u), table = found.table(lane);
      RunBounds run = found.run(lane);
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
    float* scratch = &shared_.stages[stage_][0][0][0][0];  // what was asked for has been taken
#pragma unroll
    for (int k = 0; k < Step::kStatistics; ++k) {
      if (lanes_.count() == kWarp) {
        sums[k] = SumOfWarp(terms[k], own, scratch + k * kRows * kWarp * kVectorColumns);
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
  __device__ __forceinline__ typename Step::Row Begin(const FoundRows<Step>& found, int first_run,
                                                      const float* sums) const {
    typename Step::Row begun = {};
    const int own = lanes_.lane - first_run, number = found.table(Self());
    if (own < 0 || own >= kRows || number < 0) return begun;
    const CudaTable& table = a_.tables[number];
    float states[FoundRow<Step>::kStates] = {};
#pragma unroll
    for (int s = 0; s < Step::kRowStates; ++s) states[s] = found.state(s, Self());
    begun = a_.steps[number].BeginRow(sums, table.dim, states);
#pragma unroll
    for (int s = 0; s < Step::kRowStates; ++s)
      if (table.row_states[s] != nullptr)
        static_cast<float*>(table.row_states[s])[found.row(Self())] = states[s];
    return begun;
  }

  __device__ __forceinline__ void Finish(const typename Step::Row& begun,
                                         const FoundRows<Step>& found, int lane, int u) const {
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
    const int64_t at = found.first(lane) + Column();
    if constexpr (std::is_same_v<Row, float>)
      StoreVector(static_cast<float*>(TableOf(u).weights) + at, value);
    else
      CudaRow<Args>{a_, TableOf(u), found.row(lane)}.Store(Column(), value);
#pragma unroll
    for (int s = 0; s < Step::kElementStates; ++s)
      StoreVector(static_cast<float*>(TableOf(u).element_states[s]) + at, state[s]);
  }

  const Args& a_;
  const Lanes& lanes_;
  WarpRows<Step>& shared_;
  // The round that was begun last; and the stage that is asked for next, which is the one to be
  // taken before.
  int round_ = 1, stage_ = 0;
  int table_[kRows];  // 0 where there is no row
  unsigned has_columns_ = 0;
  Vector<kVectorColumns> grad_[kRows], state_[kRows][kMaxElementStates];
  Stored weight_[kRows];
};

// a.runs_of_group runs of each group of lanes in a round.
template <typename Step, typename Row, typename Args>
__device__ __forceinline__ void UpdateRegisterRows(const Args& a, WarpRows<Step>& shared) {
  const Lanes lanes(a.log_lanes);
  const RunsOfGroup<Args> runs(a, *a.runs.num_runs);
  const uint32_t runs_of_warp = static_cast<uint32_t>((kWarp >> a.log_lanes) * a.runs_of_group),
                 warps = kRegisterThreads / kWarp, stride = gridDim.x * warps * runs_of_warp,
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
  const auto begin_round = [&] {
    rows.BeginRound(runs.template Find<Step>(head, own(first)));
    first = runs.After(first, stride);
    head = runs.AskForHead(next, own(first));
    next = runs.AskForBounds(own(runs.After(first, stride)));
  };
  bool is_round = first < runs.end();
  begin_round();
  rows.Ask(0);
  while (is_round) {
    const int round = rows.round();
#pragma unroll 1
    for (int run = 0; run < a.runs_of_group; run += kRowsAtOnce<Step>) {
      int next_run = run + kRowsAtOnce<Step>;
      if (next_run >= a.runs_of_group) {
        next_run = 0;
        is_round = first < runs.end();
        begin_round();
      }
      rows.Ask(next_run);
      rows.Update(round, run);
    }
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
