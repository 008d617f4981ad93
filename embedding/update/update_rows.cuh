#ifndef TESSERA_EMBEDDING_UPDATE_UPDATE_ROWS_CUH_
#define TESSERA_EMBEDDING_UPDATE_UPDATE_ROWS_CUH_
// The executor on a GPU: applies a rule to every row that a batch names, written once for all
// rules. For update_rule_cuda.cu and custom_rule.cuh.
//
// A group of 1 to 32 lanes updates a row: each lane has vectors of neighbouring columns. The row's
// weights and summed gradient lie in shared memory between the sum and the rule, so that sums over
// the row can be taken in lane order (runtime/numbers/lanes.h) and dims need not fit registers.
// Weights, states of the row, and the key of the next one are asked for before its gradients, and
// widened after them, as a conversion would wait.
#include <algorithm>
#include <vector>

#include "embedding/update/any_vector.cuh"
#include "embedding/update/cuda_row.cuh"
#include "embedding/update/gradient_sums.cuh"
#include "embedding/update/update_register_rows.cuh"
#include "runtime/context.h"
#include "runtime/ptx.cuh"
#include "runtime/recorded_launch.cuh"

namespace tessera::internal {

// ---- one row

// Scales the row, whose values as stored are in `values`, back to max_norm.
template <int kWidth, typename Row>
__device__ __forceinline__ void LimitNorm(const Row& at, float max_norm, const Lanes& lanes,
                                          const float* values) {
  __syncwarp(lanes.mask);
  float square;
  SumInLanes<kWidth, 1>(
      lanes, at.table.dim,
      [&]<int kColumns>(int d, Vector<kColumns>* terms) {
        terms[0] = LoadVector<kColumns>(values + d);
#pragma unroll
        for (float& number : terms[0].v) number = number * number;
      },
      &square);
  const float norm = Sqrt(square);
  if (!(norm > max_norm)) return;
  const float shrink = max_norm / norm;
  for (int d = lanes.lane * kWidth; d < at.table.dim; d += lanes.count() * kWidth) {
    Vector<kWidth> value = LoadVector<kWidth>(values + d);
#pragma unroll
    for (float& number : value.v) number = number * shrink;
    at.Store(d, value);
  }
}

// The states of a row, as they were asked for.
struct RawRowStates {
  RawAny state[kMaxRowStates];
};
template <typename Step>
__device__ __forceinline__ RawRowStates AskForRowStates(const CudaTable& table, int64_t row) {
  RawRowStates raw = {};
#pragma unroll
  for (int s = 0; s < Step::kRowStates; ++s)
    if (table.row_states[s] != nullptr)
      raw.state[s] = LoadRawAny<1>(table.row_states[s], table.row_state_types[s], row);
  return raw;
}

// A row between the sum of its gradient and the rule; both arrays have dim floats, of which `sum`
// is used up.
struct RowValues {
  float *sum, *weights;
  RawRowStates states;
};

// Applies `step` to the row.
template <int kWidth, typename Step, typename Row>
__device__ __forceinline__ void UpdateOneRow(const Step& step, const Row& at, const Lanes& lanes,
                                             const RowValues& values) {
  float *sum = values.sum, *weights = values.weights;
  const CudaTable& table = at.table;
  const int dim = table.dim;
  float sums[kMaxStatistics] = {};
  if constexpr (Step::kStatistics > 0)
    SumInLanes<kWidth, Step::kStatistics>(
        lanes, dim,
        [&]<int kColumns>(int d, Vector<kColumns>* terms) {
          const auto w = LoadVector<kColumns>(weights + d), g = LoadVector<kColumns>(sum + d);
#pragma unroll
          for (int i = 0; i < kColumns; ++i) {
            float of_column[Step::kStatistics];
            step.Statistics(RowElement<float>{w.v[i], g.v[i]}, of_column);
#pragma unroll
            for (int k = 0; k < Step::kStatistics; ++k) terms[k].v[i] = of_column[k];
          }
        },
        sums);

  float row_state[kMaxRowStates] = {};
#pragma unroll
  for (int s = 0; s < Step::kRowStates; ++s)
    if (table.row_states[s] != nullptr)
      row_state[s] = WidenAny<1>(values.states.state[s], table.row_state_types[s]).v[0];
  auto begun = step.BeginRow(sums, dim, row_state);
  if constexpr (Step::kRowStates > 0) __syncwarp(lanes.mask);  // all have read before one writes
#pragma unroll
  for (int s = 0; s < Step::kRowStates; ++s)
    if (table.row_states[s] != nullptr && lanes.lane == 0)
      StoreOne(table.row_states[s], table.row_state_types[s], at.row, row_state[s]);

  if constexpr (requires { Step::kLateStatistics; }) {
    SumInLanes<kWidth, Step::kLateStatistics>(
        lanes, dim,
        [&]<int kColumns>(int d, Vector<kColumns>* terms) {
          const auto w = LoadVector<kColumns>(weights + d), g = LoadVector<kColumns>(sum + d);
          Vector<kColumns> state[kMaxElementStates];
#pragma unroll
          for (int s = 0; s < Step::kElementStates; ++s)
            state[s] = LoadAny<kColumns>(table.element_states[s], table.element_type, at.At(d));
#pragma unroll
          for (int i = 0; i < kColumns; ++i) {
            float element[kMaxElementStates] = {}, of_column[Step::kLateStatistics];
#pragma unroll
            for (int s = 0; s < Step::kElementStates; ++s) element[s] = state[s].v[i];
            step.LateStatistics(begun, RowElement<float>{w.v[i], g.v[i]},
                                static_cast<const float*>(element), of_column);
#pragma unroll
            for (int k = 0; k < Step::kLateStatistics; ++k) terms[k].v[i] = of_column[k];
          }
        },
        sums);
    step.FinishRow(begun, sums);
    __syncwarp(lanes.mask);  // all have read before any writes
  }

  for (int d = lanes.lane * kWidth; d < dim; d += lanes.count() * kWidth) {
    const Vector<kWidth> gradient = LoadVector<kWidth>(sum + d);
    Vector<kWidth> value = LoadVector<kWidth>(weights + d), state[kMaxElementStates];
#pragma unroll
    for (int s = 0; s < Step::kElementStates; ++s)
      state[s] = LoadAny<kWidth>(table.element_states[s], table.element_type, at.At(d));
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      float element[kMaxElementStates] = {};
#pragma unroll
      for (int s = 0; s < Step::kElementStates; ++s) element[s] = state[s].v[k];
      RowElement<float> x = {value.v[k], gradient.v[k]};
      step.Update(begun, x, element);
      value.v[k] = x.w;
#pragma unroll
      for (int s = 0; s < Step::kElementStates; ++s) state[s].v[k] = element[s];
    }
    at.Store(d, value);
    if constexpr (requires { step.max_norm; })
      if (step.max_norm > 0)
        StoreVector(sum + d, LoadAny<kWidth>(table.weights, table.row_type, at.At(d)));
#pragma unroll
    for (int s = 0; s < Step::kElementStates; ++s)
      StoreAny(table.element_states[s], table.element_type, at.At(d), state[s]);
  }
  if constexpr (requires { step.max_norm; })
    if (step.max_norm > 0) LimitNorm<kWidth>(at, step.max_norm, lanes, sum);
}

// ---- all rows of a group

struct Run {
  uint32_t begin, end;
  uint64_t key;
};
// The occurrences of run r, none for one past the end; its key is asked for a row later, so that
// nothing waits here.
__device__ __forceinline__ Run AskForRun(const SortedRuns& runs, uint32_t r, uint32_t end,
                                         uint32_t num_runs) {
  if (r >= end) return {0, 0, 0};
  return {runs.starts[r], r + 1 < num_runs ? runs.starts[r + 1] : runs.bound, 0};
}

// Brings weights and state of the row of a key, the first 4 KiB of each, to the second level of
// cache.
template <typename Step, typename Args>
__device__ __forceinline__ void PrefetchRow(const Args& a, uint64_t key, const Lanes& lanes) {
  if (a.compact || key >= a.end_key) return;
  const CudaTable& table = a.tables[TableOf(a, key)];
  const int64_t row = static_cast<int64_t>(key - table.first_key);
  const auto prefetch = [&](const void* rows, DType type, int dim) {
    const int shift = type == DType::kF32 ? 2 : 1;  // bytes of an element
    const int line = (lanes.lane * 128) >> shift;
    if (line < dim) PrefetchL2(static_cast<const char*>(rows) + ((row * dim + line) << shift));
  };
  prefetch(table.weights, table.row_type, table.dim);
#pragma unroll
  for (int s = 0; s < Step::kElementStates; ++s)
    prefetch(table.element_states[s], table.element_type, table.dim);
#pragma unroll
  for (int s = 0; s < Step::kRowStates; ++s)
    if (table.row_states[s] != nullptr) prefetch(table.row_states[s], table.row_state_types[s], 1);
}

template <int kWidth, typename Step, typename Args>
__device__ __forceinline__ void UpdateRun(const Args& a, const Step* steps, const Run& run,
                                          uint32_t r, uint64_t next_key, const Lanes& lanes,
                                          float* shared) {
  const int t = TableOf(a, run.key);
  const CudaTable& table = a.tables[t];
  float *sum = shared, *weights = sum + (table.dim + 3) / 4 * 4;
  const int64_t row = a.compact ? int64_t{r} : static_cast<int64_t>(run.key - table.first_key);
  const CudaRow<Args> at = {a, table, row};
  const RowValues values = {sum, weights, AskForRowStates<Step>(table, row)};
  const uint32_t chunk = a.runs.run_chunk != nullptr ? a.runs.run_chunk[r] : kNoChunk;
  for (int d = lanes.lane * kWidth; d < table.dim; d += lanes.count() * kWidth) {
    RawAny raw = {};
    if constexpr (!IgnoresWeights<Step>())
      raw = LoadRawAny<kWidth>(table.weights, table.row_type, at.At(d));
    Vector<kWidth> total =
        chunk == kNoChunk ? SumRun<kWidth>(a, table, run.begin, run.end, d)
                          : LoadVector<kWidth>(a.runs.chunk_sums + chunk * a.runs.chunk_stride + d);
#pragma unroll
    for (int k = 0; k < kWidth; ++k) total.v[k] = table.gradient_scale * total.v[k];
    StoreVector(sum + d, total);
    const Vector<kWidth> weight = WidenAny<kWidth>(raw, table.row_type);
    if constexpr (kWidth == 4)
      StoreShared(weights + d, {weight.v[0], weight.v[1], weight.v[2], weight.v[3]});
    else
      weights[d] = weight.v[0];
  }
  PrefetchRow<Step>(a, next_key, lanes);  // its key was asked for before these gradients
  __syncwarp(lanes.mask);
  UpdateOneRow<kWidth>(steps[t], at, lanes, values);
  __syncwarp(lanes.mask);
}

template <typename Step, typename Grad, int kTables, int kFeatures>
struct RowsArgs : GroupArgs<Grad, kTables, kFeatures> {
  Step steps[kTables];
};

// Blocks that a multiprocessor is to hold: with 3, hence 80 registers, nothing spills; with 4, what
// is asked for of a row and of the next ones does.
constexpr int kBlocksHeld = 3;

template <int kWidth, typename Step, typename Grad, int kTables, int kFeatures>
__global__ void __launch_bounds__(kUpdateThreads, kBlocksHeld)
    UpdateRowsKernel(const __grid_constant__ RowsArgs<Step, Grad, kTables, kFeatures> a) {
  const Lanes lanes(a.log_lanes);
  const uint32_t num_runs = *a.runs.num_runs, groups = blockDim.x >> a.log_lanes,
                 group = threadIdx.x >> a.log_lanes, stride = gridDim.x * groups;
  const bool bounded = a.runs.group_begin != nullptr;
  const uint32_t first = bounded ? a.runs.group_begin[a.index] : 0,
                 end = bounded ? a.runs.group_begin[a.index + 1] : num_runs;
  float* shared = DynamicShared<float>() + group * a.shared_stride;
  uint32_t r = first + blockIdx.x * groups + group;
  if (r >= end) return;
  Run run = AskForRun(a.runs, r, end, num_runs);
  run.key = a.runs.Key(run.begin);
  Run next = AskForRun(a.runs, end - r > stride ? r + stride : end, end, num_runs);
  for (;;) {
    const bool is_last = end - r <= stride, is_second_last = is_last || end - r - stride <= stride;
    next.key = is_last ? a.end_key : a.runs.Key(next.begin);
    const Run second = AskForRun(a.runs, is_second_last ? end : r + 2 * stride, end, num_runs);
    if (run.key < a.end_key) UpdateRun<kWidth>(a, a.steps, run, r, next.key, lanes, shared);
    if (is_last) break;
    run = next;
    next = second;
    r += stride;
  }
}

template <typename Step, typename Row, typename Grad, int kTables, int kFeatures>
__global__ void __launch_bounds__(kRegisterThreads, kRegisterBlocksHeld)
    UpdateRegisterRowsKernel(const __grid_constant__ RowsArgs<Step, Grad, kTables, kFeatures> a) {
  UpdateRegisterRows<Step, Row>(a, DynamicShared<WarpRows<Step>>()[threadIdx.x / kWarp]);
}

// ---- the host's side

// Starts a kernel of the group's rows, also where a graph records it.
template <typename Step, typename Kernel, typename Args>
void LaunchRows(Context& ctx, const CudaRows& rows, const StepsAt<Step>& steps_at, Kernel kernel,
                dim3 blocks, dim3 block, size_t shared, const Args& args) {
  if (!rows.step_of_launch) return Launch(ctx, kernel, blocks, block, shared, args);
  LaunchRecorded(ctx, kernel, blocks, block, shared, args,
                 [args, steps_at, step_of_launch = rows.step_of_launch] {
                   auto next = args;
                   next.step = step_of_launch();
                   const std::vector<Step> at = steps_at(next.step);
                   std::copy(at.begin(), at.end(), next.steps);
                   return next;
                 });
}

template <typename Step>
void UpdateRowsOnCuda(Context& ctx, const CudaRows& rows, const std::vector<Step>& steps,
                      const StepsAt<Step>& steps_at) {
  const CudaGroup& group = *rows.group;
  WithGroupArgs(group, [&]<typename Grad, int kTables, int kFeatures>() {
    RowsArgs<Step, Grad, kTables, kFeatures> args = {};
    FillGroupArgs(rows, args);
    std::copy(steps.begin(), steps.end(), args.steps);
    if constexpr (FitsRegisters<Step>())
      if (RowsFitRegisters(group, steps)) {
        args.runs_of_group = RunsOfRound(ctx, group, rows.runs->bound);
        const int64_t runs_of_warp = (kWarp >> group.log_lanes) * args.runs_of_group;
        const dim3 blocks =
            BlocksForGroups(ctx, rows.runs->bound, runs_of_warp * (kRegisterThreads / kWarp));
        const auto kernel =
            group.tables[0].row_type == DType::kF32
                ? UpdateRegisterRowsKernel<Step, float, Grad, kTables, kFeatures>
                : UpdateRegisterRowsKernel<Step, uint16_t, Grad, kTables, kFeatures>;
        return LaunchRows(ctx, rows, steps_at, kernel, blocks, dim3(kRegisterThreads),
                          kRegisterRowsShared<Step>, args);
      }
    // Fewer rows at a time where dims are so large that shared memory runs out.
    int threads = kUpdateThreads;
    const auto shared_bytes = [&] {
      return int64_t{threads >> group.log_lanes} * args.shared_stride *
             static_cast<int64_t>(sizeof(float));
    };
    while (threads > kLanes && shared_bytes() > PropertiesOf(ctx.device()).shared_bytes_per_block)
      threads /= 2;
    const dim3 blocks = BlocksForGroups(ctx, rows.runs->bound, threads >> group.log_lanes);
    const auto kernel = group.width == 4 ? UpdateRowsKernel<4, Step, Grad, kTables, kFeatures>
                                         : UpdateRowsKernel<1, Step, Grad, kTables, kFeatures>;
    const dim3 block(static_cast<unsigned>(threads));
    const auto shared = static_cast<size_t>(shared_bytes());
    LaunchRows(ctx, rows, steps_at, kernel, blocks, block, shared, args);
  });
}

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_UPDATE_UPDATE_ROWS_CUH_
