#ifndef TESSERA_EMBEDDING_UPDATE_ROWS_CUH_
#define TESSERA_EMBEDDING_UPDATE_ROWS_CUH_
// The executor on a GPU: applies a rule to every row that a batch names, written once for all
// rules. For update_rule_cuda.cu and custom_rule.cuh.
//
// A group of 1 to 32 lanes updates a row: each lane has vectors of neighbouring columns. The row's
// summed gradient lies in shared memory between the sum and the rule, so that sums over the row can
// be taken in lane order (runtime/lanes.h) and dims need not fit registers.
#include <algorithm>

#include "embedding/gradient_sums.cuh"

namespace tessera::internal {

// ---- one row

// Applies `step` to the row whose summed gradient is sum[0 … dim); sum is used up.
template <int kWidth, typename Step>
__device__ __forceinline__ void UpdateOneRow(const Step& step, const CudaTable& table, int64_t row,
                                             const Lanes& lanes, float* sum, float* scratch) {
  const int dim = table.dim;
  float* weights = table.weights + row * dim;
  float total = 0;
  if constexpr (Step::kHasStatistic)
    total =
        SumInLanes(lanes, dim, scratch, [&](int d) { return step.Statistic(sum[d], weights[d]); });

  float row_state[kMaxRowStates] = {};
#pragma unroll
  for (int s = 0; s < Step::kRowStates; ++s)
    if (table.row_states[s] != nullptr) row_state[s] = table.row_states[s][row];
  const auto begun = step.BeginRow(total, dim, row_state);
  if constexpr (Step::kRowStates > 0) __syncwarp(lanes.mask);  // all have read before one writes
#pragma unroll
  for (int s = 0; s < Step::kRowStates; ++s)
    if (table.row_states[s] != nullptr && lanes.lane == 0) table.row_states[s][row] = row_state[s];

  for (int d = lanes.lane * kWidth; d < dim; d += lanes.count() * kWidth) {
    Vector<kWidth> value = LoadVector<kWidth>(weights + d), state[kMaxElementStates];
#pragma unroll
    for (int s = 0; s < Step::kElementStates; ++s)
      state[s] = LoadVector<kWidth>(table.element_states[s] + row * dim + d);
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      float element[kMaxElementStates] = {};
#pragma unroll
      for (int s = 0; s < Step::kElementStates; ++s) element[s] = state[s].v[k];
      step.Update(begun, value.v[k], sum[d + k], element);
#pragma unroll
      for (int s = 0; s < Step::kElementStates; ++s) state[s].v[k] = element[s];
    }
    StoreVector(weights + d, value);
    if constexpr (requires { step.max_norm; }) StoreVector(sum + d, value);
#pragma unroll
    for (int s = 0; s < Step::kElementStates; ++s)
      StoreVector(table.element_states[s] + row * dim + d, state[s]);
  }

  if constexpr (requires { step.max_norm; }) {
    if (step.max_norm <= 0) return;
    __syncwarp(lanes.mask);
    const float norm =
        Sqrt(SumInLanes(lanes, dim, scratch, [&](int d) { return sum[d] * sum[d]; }));
    if (!(norm > step.max_norm)) return;
    const float shrink = step.max_norm / norm;
    for (int d = lanes.lane; d < dim; d += lanes.count()) weights[d] = sum[d] * shrink;
  }
}

// ---- all rows of a group

struct Run {
  uint32_t begin, end;
  uint64_t key;
};
__device__ __forceinline__ Run LoadRun(const SortedRuns& runs, uint32_t r, uint32_t num_runs) {
  const uint32_t begin = runs.starts[r];
  return {begin, r + 1 < num_runs ? runs.starts[r + 1] : runs.bound, runs.Key(begin)};
}

template <int kWidth, typename Step, typename Args>
__device__ __forceinline__ void UpdateRun(const Args& a, const Step* steps, const Run& run,
                                          uint32_t r, const Lanes& lanes, float* shared) {
  const int t = TableOf(a, run.key);
  const CudaTable& table = a.tables[t];
  float *scratch = shared, *sum = shared + kLanes;
  const uint32_t chunk = a.runs.run_chunk != nullptr ? a.runs.run_chunk[r] : kNoChunk;
  for (int d = lanes.lane * kWidth; d < table.dim; d += lanes.count() * kWidth)
    StoreVector(sum + d, chunk == kNoChunk ? SumRun<kWidth>(a, table, run.begin, run.end, d)
                                           : LoadVector<kWidth>(a.runs.chunk_sums +
                                                                chunk * a.runs.chunk_stride + d));
  __syncwarp(lanes.mask);
  const int64_t row = a.compact ? int64_t{r} : static_cast<int64_t>(run.key - table.first_key);
  UpdateOneRow<kWidth>(steps[t], table, row, lanes, sum, scratch);
  __syncwarp(lanes.mask);
}

template <typename Step, int kTables, int kFeatures>
struct RowsArgs : GroupArgs<kTables, kFeatures> {
  Step steps[kTables];
};

// At least 4 blocks: with 64 registers nothing spills; left alone, ptxas takes 48 and spills.
template <int kWidth, typename Step, int kTables, int kFeatures>
__global__ void __launch_bounds__(kUpdateThreads, 4)
    UpdateRowsKernel(const __grid_constant__ RowsArgs<Step, kTables, kFeatures> a) {
  const Lanes lanes(a.log_lanes);
  const uint32_t num_runs = *a.runs.num_runs, groups = blockDim.x >> a.log_lanes,
                 group = threadIdx.x >> a.log_lanes, stride = gridDim.x * groups;
  const bool bounded = a.runs.group_begin != nullptr;
  const uint32_t first = bounded ? a.runs.group_begin[a.index] : 0,
                 end = bounded ? a.runs.group_begin[a.index + 1] : num_runs;
  float* shared = DynamicShared<float>() + group * a.shared_stride;
  uint32_t r = first + blockIdx.x * groups + group;
  if (r >= end) return;
  Run next = LoadRun(a.runs, r, num_runs);
  for (; r < end; r += stride) {
    const Run run = next;
    if (end - r > stride) {  // asked for while this row is worked on
      next = LoadRun(a.runs, r + stride, num_runs);
      if (next.key < a.end_key) {
        const CudaTable& table = a.tables[TableOf(a, next.key)];
        const float* row =
            table.weights + static_cast<int64_t>(next.key - table.first_key) * table.dim;
        if (!a.compact && lanes.lane * 32 < table.dim) PrefetchL2(row + lanes.lane * 32);
      }
    }
    if (run.key < a.end_key) UpdateRun<kWidth>(a, a.steps, run, r, lanes, shared);
    if (end - r <= stride) break;
  }
}

// ---- the host's side

template <typename Step>
void UpdateRowsOnCuda(Context& ctx, const CudaRows& rows, const std::vector<Step>& steps) {
  const CudaGroup& group = *rows.group;
  WithCapacity(group, [&]<int kTables, int kFeatures>() {
    RowsArgs<Step, kTables, kFeatures> args = {};
    FillGroupArgs(rows, args);
    std::copy(steps.begin(), steps.end(), args.steps);
    // Fewer rows at a time where dims are so large that shared memory runs out.
    int threads = kUpdateThreads;
    const auto shared_bytes = [&] {
      return int64_t{threads >> group.log_lanes} * args.shared_stride *
             static_cast<int64_t>(sizeof(float));
    };
    while (threads > kLanes && shared_bytes() > PropertiesOf(ctx.device()).shared_bytes_per_block)
      threads /= 2;
    const dim3 blocks = BlocksForGroups(ctx, rows.runs->bound, threads >> group.log_lanes);
    const auto kernel = group.width == 4 ? UpdateRowsKernel<4, Step, kTables, kFeatures>
                                         : UpdateRowsKernel<1, Step, kTables, kFeatures>;
    Launch(ctx, kernel, blocks, dim3(static_cast<unsigned>(threads)),
           static_cast<size_t>(shared_bytes()), args);
  });
}

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_UPDATE_ROWS_CUH_
