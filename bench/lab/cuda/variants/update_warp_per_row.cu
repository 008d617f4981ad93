// The obvious update: a warp a row. The batch's occurrences are sorted as the library sorts them
// (embedding/update/occurrences_cuda.h); then a warp sums its row's gradients, a lane the columns
// lane, lane + 32, …, and applies the rule. A row that many ids name keeps one warp busy long after
// all others are done: the library cuts such rows into chunks, which warps all over the device sum.
#include <algorithm>
#include <variant>

#include "bench/lab/cuda/cuda_variant.h"
#include "embedding/update/any_vector.cuh"
#include "embedding/update/occurrences_cuda.h"
#include "embedding/update/update_cuda.h"
#include "runtime/context.h"
#include "runtime/launch.cuh"
#include "runtime/vector.cuh"

namespace tessera::bench {
namespace {

using internal::LoadAny;
using internal::SortedRuns;
using internal::Vector;

constexpr int kWarp = 32;
constexpr size_t kMaxTables = 16;  // that travel with a launch

// A table, and the gradient of the feature that reads it.
struct Table {
  void *weights, *state;
  DType row_type, state_type;
  int64_t dim;
  uint64_t first_key, end_key;
  const float* gradient;
  int64_t stride, first_bag;
  uint32_t first_slot;
  bool mean;
};

struct Batch {
  SortedRuns runs;
  Table tables[kMaxTables];
  int count;
  int64_t most_columns;  // of a table
};

// A column of occurrence i's gradient, times its coefficient.
__device__ __forceinline__ float TermOf(const SortedRuns& runs, const Table& table, uint32_t i,
                                        int64_t column) {
  internal::WeightedSlot of = {runs.payloads[i], 1.0f};
  if (runs.weighted_slots != nullptr) of = runs.weighted_slots[of.slot];
  const int64_t slot = of.slot - table.first_slot, bag = table.first_bag + slot;
  float coefficient = of.weight;
  if (table.mean) coefficient = coefficient * MeanScale(runs.offsets[bag + 1] - runs.offsets[bag]);
  return coefficient * table.gradient[slot * table.stride + column];
}

// A chunk of a run, kGrads terms at a time. (A term past the end is +0, which changes no bit of a
// sum that began with +0.)
template <int kGrads>
__device__ __forceinline__ float SumChunk(const SortedRuns& runs, const Table& table,
                                          uint32_t begin, uint32_t end, int64_t column) {
  float sum = 0;
  for (uint32_t i = begin; i < end; i += kGrads) {
    float term[kGrads];
#pragma unroll
    for (int u = 0; u < kGrads; ++u)
      term[u] = i + u < end ? TermOf(runs, table, i + u, column) : 0.0f;
#pragma unroll
    for (int u = 0; u < kGrads; ++u) sum = sum + term[u];
  }
  return sum;
}

// Chunks are summed from 0 each, then added in order: the bits of every machine.
template <int kGrads>
__device__ __forceinline__ float SumRun(const SortedRuns& runs, const Table& table, uint32_t begin,
                                        uint32_t end, int64_t column) {
  constexpr uint32_t kStep = kChunk;
  float total = SumChunk<kGrads>(runs, table, begin, std::min(begin + kStep, end), column);
  for (uint32_t chunk = begin + kStep; chunk < end; chunk += kStep)
    total = total + SumChunk<kGrads>(runs, table, chunk, std::min(chunk + kStep, end), column);
  return total;
}

// The sum over a row's columns in lane order (runtime/numbers/lanes.h), in every lane.
__device__ __forceinline__ float FoldWarp(float sum) {
  for (int half = kWarp / 2; half > 0; half /= 2) sum = sum + __shfl_xor_sync(~0u, sum, half);
  return sum;
}

// Applies the rule to a row, whose summed gradient lies in `gradient`.
template <typename Step>
__device__ __forceinline__ void UpdateRow(const Table& table, const Step& step, int64_t row,
                                          const float* gradient) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const auto element = [&](int64_t column) {
    const int64_t at = row * table.dim + column;
    return RowElement<float>{LoadAny<1>(table.weights, table.row_type, at).v[0], gradient[column]};
  };
  float sums[kMaxStatistics] = {}, state[kMaxRowStates] = {};
  if constexpr (Step::kStatistics > 0) {
    float terms[Step::kStatistics];
    for (int64_t column = lane; column < table.dim; column += kWarp) {
      step.Statistics(element(column), terms);
      sums[0] = sums[0] + terms[0];
    }
    sums[0] = FoldWarp(sums[0]);
  }
  if (Step::kRowStates > 0) state[0] = LoadAny<1>(table.state, table.state_type, row).v[0];
  const auto begun = step.BeginRow(sums, table.dim, state);
  __syncwarp();  // all lanes have read the state
  if (Step::kRowStates > 0 && lane == 0)
    internal::StoreOne(table.state, table.state_type, row, state[0]);
  for (int64_t column = lane; column < table.dim; column += kWarp) {
    RowElement<float> x = element(column);
    step.Update(begun, x, static_cast<float*>(nullptr));
    internal::StoreAny(table.weights, table.row_type, row * table.dim + column, Vector<1>{{x.w}});
  }
}

// The place of a key's table; batch.count for keys of another launch and of ids that name no row.
__device__ __forceinline__ int TableOf(const Batch& batch, uint64_t key) {
  int t = 0;
  while (t < batch.count && (key < batch.tables[t].first_key || key >= batch.tables[t].end_key))
    ++t;
  return t;
}

template <int kGrads, typename Step>
__global__ void WarpPerRow(const __grid_constant__ Batch batch, Step step) {
  const auto warps_of_block = blockDim.x / kWarp, warp = threadIdx.x / kWarp;
  const SortedRuns& runs = batch.runs;
  float* gradient = internal::DynamicShared<float>() + warp * batch.most_columns;
  const uint32_t num_runs = *runs.num_runs;
  for (uint32_t r = blockIdx.x * warps_of_block + warp; r < num_runs;
       r += gridDim.x * warps_of_block) {
    const uint32_t begin = runs.starts[r], end = r + 1 < num_runs ? runs.starts[r + 1] : runs.bound;
    const uint64_t key = runs.Key(begin);
    const int t = TableOf(batch, key);
    if (t == batch.count) continue;
    const Table& table = batch.tables[t];
    for (int64_t column = threadIdx.x % kWarp; column < table.dim; column += kWarp)
      gradient[column] = SumRun<kGrads>(runs, table, begin, end, column);
    UpdateRow(table, step, static_cast<int64_t>(key - table.first_key), gradient);
  }
}

// ---- the host's side

// The tables of a call, each with keys and slots of its own, and what is to be sorted.
struct Plan {
  internal::OccurrencePlan occurrences;
  std::vector<Table> tables;
  int64_t num_slots = 0;

  void Add(const LookupArgs& lookup, const UpdateTable& table) {
    const LookupFeature& f = lookup.features[static_cast<size_t>(table.features[0])];
    const bool slot_an_id = f.pooling == PoolingType::kNone;
    const uint64_t key = occurrences.end_key;
    const auto slot = static_cast<uint32_t>(num_slots);
    occurrences.features.push_back(
        {f.ids, f.num_rows, f.first_bag, key, slot, static_cast<uint32_t>(f.num_bags), slot_an_id});
    occurrences.end_key += static_cast<uint64_t>(table.num_rows);
    occurrences.total_bags += f.num_bags;
    occurrences.chunk_stride = std::max(occurrences.chunk_stride, (table.dim + 3) / 4 * 4);
    num_slots += slot_an_id ? lookup.num_ids : f.num_bags;
    tables.push_back({table.weights, table.states.empty() ? nullptr : table.states[0],
                      table.row_type, table.state_type, table.dim, key, occurrences.end_key,
                      f.OutputAt<const float>(0), f.output_stride, f.first_bag, slot,
                      f.pooling == PoolingType::kMean});
  }
};

Plan MakePlan(const UpdateArgs& args) {
  Plan plan;
  plan.occurrences.offsets = args.lookup.offsets;
  plan.occurrences.weights = args.lookup.weights;
  plan.occurrences.most_ids = args.lookup.num_ids;
  plan.occurrences.group_keys = {0};
  for (const UpdateTable& table : args.tables) plan.Add(args.lookup, table);
  return plan;
}

template <int kGrads, typename Step>
void UpdateRows(Context& ctx, const UpdateArgs& args, const Step& step, int threads) {
  const Plan plan = MakePlan(args);
  if (plan.occurrences.most_ids == 0) return;
  const internal::OccurrencesOnCuda occurrences(ctx, plan.occurrences);
  const int64_t warps = threads / kWarp, columns = plan.occurrences.chunk_stride;
  const auto shared = static_cast<size_t>(warps * columns * int64_t{sizeof(float)});
  const dim3 blocks = internal::BlocksFor(plan.occurrences.most_ids, warps);
  for (size_t first = 0; first < plan.tables.size(); first += kMaxTables) {
    const size_t count = std::min(kMaxTables, plan.tables.size() - first);
    Batch batch = {occurrences.runs(), {}, static_cast<int>(count), columns};
    std::copy_n(plan.tables.begin() + static_cast<int64_t>(first), count, batch.tables);
    internal::Launch(ctx, WarpPerRow<kGrads, Step>, blocks, dim3(static_cast<unsigned>(threads)),
                     shared, batch, step);
  }
}

// All tables have the rule of the point.
template <int kGrads>
void Update(Context& ctx, const UpdateArgs& args, int threads) {
  const AnyRule& rule = *args.tables[0].rule;
  if (const auto* sgd = std::get_if<Sgd>(&rule))
    UpdateRows<kGrads>(ctx, args, sgd->AtStep(args.step), threads);
  else
    UpdateRows<kGrads>(ctx, args, std::get<RowwiseAdagrad>(rule).AtStep(args.step), threads);
}

using Grads = Constants<2, 1, 4>;

const RegisterCuda kWarpPerRow(
    {.name = "warp_per_row",
     .about = "a warp a row, after the library's sort of ids, for every shape",
     .takes = kTakesAll,
     .parameters = {Grads::Named("grads-in-flight", "gradients that a lane asks for at once"),
                    {"threads",
                     {"128"},
                     "threads a block: 64, 128, 256 or 512",
                     OneOf({"64", "128", "256", "512"})},
                    {"rule",
                     {"rowwise_adagrad"},
                     "sgd or rowwise_adagrad",
                     OneOf({"sgd", "rowwise_adagrad"})}},
     .make = [](const Point& point) {
       const auto threads = static_cast<int>(point.Int("threads"));
       return Grads::With(point.Int("grads-in-flight"), [=]<int kGrads>() -> CudaKernel {
         return [=](Context& ctx, const UpdateArgs& args) { Update<kGrads>(ctx, args, threads); };
       });
     }});

}  // namespace
}  // namespace tessera::bench
