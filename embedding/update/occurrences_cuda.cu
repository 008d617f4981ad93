// Collects, sorts and surveys the occurrences of rows in a batch.
#include <algorithm>
#include <bit>

#include "embedding/update/occurrences_cuda.h"
#include "embedding/update/occurrences_workspace.h"
#include "runtime/algorithms.h"
#include "runtime/launch.cuh"

namespace tessera::internal {
namespace {

constexpr int kThreads = 256;
// One block sorts up to so many occurrences, one for each of its threads.
constexpr int kSmall = 1024;
constexpr int kMaxGroups = 128;

template <int kCapacity>
struct Collected {
  CollectedFeature features[kCapacity];
  uint32_t first_item[kCapacity + 1];  // bags of the features before
  int count;
  IndexArray offsets;
  const float* weights;
};

// Ids of a feature.
template <typename AnyCollected>
__device__ uint32_t IdsOf(const AnyCollected& c, int f) {
  const CollectedFeature& feature = c.features[f];
  return static_cast<uint32_t>(c.offsets[feature.first_bag + feature.num_bags] -
                               c.offsets[feature.first_bag]);
}

// Number i of a feature's ids, in bag `bag`, as occurrence number `at` of all.
template <typename Key, typename AnyCollected>
__device__ void WriteOccurrence(const AnyCollected& c, const CollectedFeature& feature,
                                uint32_t bag, int64_t i, uint32_t at,
                                const OccurrencePointers<Key>& out) {
  const int64_t position = c.offsets[feature.first_bag] + i, id = feature.ids[position];
  const uint32_t slot = feature.first_slot + (feature.slot_an_id ? static_cast<uint32_t>(i) : bag);
  out.keys[at] = IsRow(id, feature.num_rows)
                     ? static_cast<Key>(feature.first_key + static_cast<uint64_t>(id))
                     : static_cast<Key>(~Key{0});
  out.payloads[at] = c.weights != nullptr ? at : slot;
  if (c.weights != nullptr) out.weighted[at] = {slot, c.weights[position]};
}

// The feature that a bag, counted over all features, belongs to.
template <typename AnyCollected>
__device__ int FeatureOfItem(const AnyCollected& c, uint32_t item) {
  int low = 0, high = c.count;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (c.first_item[middle] <= item)
      low = middle;
    else
      high = middle;
  }
  return low;
}

// Writes the occurrences of bag `item`, by `lanes` lanes. bases[f]: occurrences of the features
// before.
template <typename Key, typename AnyCollected>
__device__ void CollectBag(const AnyCollected& c, uint32_t item, int lane, int lanes,
                           const uint32_t* bases, const OccurrencePointers<Key>& out) {
  const int f = FeatureOfItem(c, item);
  const CollectedFeature& feature = c.features[f];
  const uint32_t bag = item - c.first_item[f];
  const int64_t origin = c.offsets[feature.first_bag],
                begin = c.offsets[feature.first_bag + bag] - origin,
                end = c.offsets[feature.first_bag + bag + 1] - origin;
  for (int64_t i = begin + lane; i < end; i += lanes)
    WriteOccurrence(c, feature, bag, i, bases[f] + static_cast<uint32_t>(i), out);
}

// bases[f] = *total + ids of the features before f; then *total grows by all of them. One block.
template <int kCapacity>
__global__ void CountKernel(const __grid_constant__ Collected<kCapacity> c, uint32_t* bases,
                            uint32_t* total) {
  __shared__ uint32_t ids[kCapacity];
  for (int f = static_cast<int>(threadIdx.x); f < c.count; f += static_cast<int>(blockDim.x))
    ids[f] = IdsOf(c, f);
  __syncthreads();
  const uint32_t before = *total;
  __syncthreads();
  for (int f = static_cast<int>(threadIdx.x); f < c.count; f += static_cast<int>(blockDim.x)) {
    uint32_t base = before;
    for (int g = 0; g < f; ++g) base += ids[g];
    bases[f] = base;
    if (f + 1 == c.count) *total = base + ids[f];
  }
}

template <typename Key, int kCapacity>
__global__ void __launch_bounds__(kThreads)
    CollectKernel(const __grid_constant__ Collected<kCapacity> c, const uint32_t* bases,
                  int log_lanes, OccurrencePointers<Key> out) {
  const uint64_t thread = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  const uint64_t item = thread >> log_lanes;
  if (item >= c.first_item[c.count]) return;
  CollectBag(c, static_cast<uint32_t>(item), static_cast<int>(thread & ((1u << log_lanes) - 1)),
             1 << log_lanes, bases, out);
}

// All of it for at most kSmall occurrences, by one block: each thread finds the rank of its
// occurrence by counting the keys before it, which is a stable sort.
template <typename Key, int kCapacity>
__global__ void __launch_bounds__(kSmall)
    SmallKernel(const __grid_constant__ Collected<kCapacity> c, int bound,
                OccurrencePointers<Key> collected, OccurrencePointers<Key> sorted, uint32_t* starts,
                uint32_t* num_runs) {
  __shared__ Key keys[kSmall], ordered[kSmall];
  __shared__ uint32_t ids[kCapacity], bases[kCapacity];
  const int self = static_cast<int>(threadIdx.x);
  for (int f = self; f < c.count; f += kSmall) ids[f] = IdsOf(c, f);
  collected.keys = keys;
  keys[self] = static_cast<Key>(~Key{0});
  __syncthreads();
  for (int f = self; f < c.count; f += kSmall) {
    uint32_t base = 0;
    for (int g = 0; g < f; ++g) base += ids[g];
    bases[f] = base;
  }
  __syncthreads();
  // Few bags are long ones: as many lanes collect one as there are threads for each.
  const uint32_t bags = c.first_item[c.count];
  uint32_t lanes = 32;
  while (lanes > 1 && bags * lanes > kSmall) lanes /= 2;
  for (uint32_t item = static_cast<uint32_t>(self) / lanes; item < bags; item += kSmall / lanes)
    CollectBag(c, item, self % static_cast<int>(lanes), static_cast<int>(lanes), bases, collected);
  __syncthreads();
  if (self < bound) {
    const Key own = keys[self];
    int rank = 0;
    for (int j = 0; j < bound; ++j) rank += keys[j] < own || (keys[j] == own && j < self);
    ordered[rank] = own;
    sorted.keys[rank] = own;
    // Places that no id took hold no payload; their key is past all others, and nobody asks.
    if (own != static_cast<Key>(~Key{0})) sorted.payloads[rank] = collected.payloads[self];
  }
  __syncthreads();
  const bool begins = self < bound && (self == 0 || ordered[self] != ordered[self - 1]);
  keys[self] = begins;
  __syncthreads();
  if (begins) {
    uint32_t run = 0;
    for (int j = 0; j < self; ++j) run += static_cast<uint32_t>(keys[j]);
    starts[run] = static_cast<uint32_t>(self);
  }
  const int count = __syncthreads_count(begins);
  if (self == 0) *num_runs = static_cast<uint32_t>(count);
}

// ---- groups, and long runs cut into chunks

struct SurveyArgs {
  SortedRuns runs;
  SurveyParts parts;
  uint64_t group_keys[kMaxGroups + 1];  // the last: the end of all
  int num_groups;
};

// The number of groups that begin at or before the key, less one; num_groups for one past all.
__device__ int GroupOf(const SurveyArgs& a, uint64_t key) {
  int group = -1;
  while (group < a.num_groups && a.group_keys[group + 1] <= key) ++group;
  return group;
}

// All lanes of a warp come here together; those with a long run take a place for its chunks, then
// all of them write each other's. Where chunks lie depends on who comes first; no sum does.
__device__ void CutLongRun(const SurveyArgs& a, bool is_long, uint32_t r, uint32_t begin,
                           uint32_t end, int group, int lane) {
  constexpr uint32_t kStep = kChunk;
  const uint32_t count = (end - begin + kStep - 1) / kStep;
  uint32_t first = 0;
  if (is_long) {
    first = atomicAdd(a.parts.num_chunks, count);
    a.parts.long_runs[atomicAdd(a.parts.num_long_runs, 1u)] = {first, count};
    a.parts.run_chunk[r] = first;
  }
  for (unsigned left = __ballot_sync(~0u, is_long); left != 0; left &= left - 1) {
    const int source = __ffs(static_cast<int>(left)) - 1;
    const uint32_t first_of = __shfl_sync(~0u, first, source),
                   count_of = __shfl_sync(~0u, count, source),
                   begin_of = __shfl_sync(~0u, begin, source),
                   end_of = __shfl_sync(~0u, end, source),
                   group_of = __shfl_sync(~0u, static_cast<uint32_t>(group), source);
    for (uint32_t k = static_cast<uint32_t>(lane); k < count_of; k += 32) {
      const uint32_t from = begin_of + k * kStep;
      a.parts.chunks[first_of + k] = {from, std::min(from + kStep, end_of), group_of};
    }
  }
}

__global__ void __launch_bounds__(kThreads) SurveyKernel(const __grid_constant__ SurveyArgs a) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const uint32_t num_runs = *a.runs.num_runs, step = gridDim.x * kThreads;
  for (uint32_t first = blockIdx.x * kThreads + threadIdx.x - static_cast<uint32_t>(lane);
       first < num_runs; first += step) {
    const uint32_t r = first + static_cast<uint32_t>(lane);
    const bool is_run = r < num_runs;
    uint32_t begin = 0, end = 0;
    int group = 0;
    if (is_run) {
      begin = a.runs.starts[r];
      end = r + 1 < num_runs ? a.runs.starts[r + 1] : a.runs.bound;
      group = GroupOf(a, a.runs.Key(begin));
      const int before = r == 0 ? -1 : GroupOf(a, a.runs.Key(begin - 1));
      for (int g = before + 1; g <= group; ++g) a.parts.group_begin[g] = r;
      if (r + 1 == num_runs)
        for (int g = group + 1; g <= a.num_groups; ++g) a.parts.group_begin[g] = num_runs;
    }
    if (a.parts.run_chunk == nullptr) continue;
    if (is_run) a.parts.run_chunk[r] = kNoChunk;
    const bool is_long = is_run && group < a.num_groups && end - begin > kShortRun;
    CutLongRun(a, is_long, r, begin, end, group, lane);
  }
}

// ---- the host's side

template <int kCapacity>
Collected<kCapacity> MakeCollected(const OccurrencePlan& plan, size_t begin, size_t end) {
  Collected<kCapacity> c;
  c.count = static_cast<int>(end - begin);
  c.offsets = plan.offsets;
  c.weights = plan.weights;
  c.first_item[0] = 0;
  for (size_t f = begin; f < end; ++f) {
    c.features[f - begin] = plan.features[f];
    c.first_item[f - begin + 1] = c.first_item[f - begin] + plan.features[f].num_bags;
  }
  return c;
}

// Features travel with the launch; few are not to pay for many.
constexpr size_t kFew = 32, kMany = 256;
template <typename Fn>
void ForFeatures(const OccurrencePlan& plan, Fn&& fn) {
  for (size_t begin = 0; begin < plan.features.size(); begin += kMany) {
    const size_t end = std::min(begin + kMany, plan.features.size());
    if (end - begin <= kFew)
      fn(MakeCollected<kFew>(plan, begin, end), begin);
    else
      fn(MakeCollected<kMany>(plan, begin, end), begin);
  }
}

void FillBytes(Context& ctx, void* to, int value, size_t bytes) {
  UseDevice(ctx.device());
  TESSERA_CUDA_CHECK(cudaMemsetAsync(to, value, bytes, CudaStream(ctx.stream())));
}

bool FitsOneBlock(const OccurrencePlan& plan) {
  return plan.most_ids <= kSmall && plan.features.size() <= kMany;
}

// ---- steps

template <typename Key>
void SortInOneBlock(Context& ctx, const OccurrencePlan& plan, const OccurrenceParts<Key>& parts,
                    SortedRuns& runs) {
  if (parts.survey.num_chunks != nullptr)
    FillBytes(ctx, parts.survey.num_chunks, 0, 2 * sizeof(uint32_t));
  ForFeatures(plan, [&]<int kCapacity>(const Collected<kCapacity>& c, size_t) {
    Launch(ctx, SmallKernel<Key, kCapacity>, dim3(1), dim3(kSmall), 0, c,
           static_cast<int>(plan.most_ids), parts.collected, parts.scratch, parts.starts,
           parts.num_runs);
  });
  runs.keys = parts.scratch.keys;
  runs.payloads = parts.scratch.payloads;
}

template <typename Key>
void SortAll(Context& ctx, const OccurrencePlan& plan, const OccurrenceParts<Key>& parts,
             SortedRuns& runs) {
  const int64_t n = plan.most_ids;
  FillBytes(ctx, parts.collected.payloads, 0, parts.zero_bytes);
  // Places that no id takes: past all keys.
  FillBytes(ctx, parts.collected.keys, 0xff, static_cast<size_t>(n) * sizeof(Key));
  // Lanes that collect a bag: each takes some four ids, as finding the bag costs more than one.
  const auto mean_length = static_cast<uint64_t>(n / std::max<int64_t>(plan.total_bags, 1));
  const int log_lanes = std::clamp(static_cast<int>(std::bit_width(mean_length)) - 2, 0, 5);
  ForFeatures(plan, [&]<int kCapacity>(const Collected<kCapacity>& c, size_t first) {
    Launch(ctx, CountKernel<kCapacity>, dim3(1), dim3(kThreads), 0, c, parts.bases + first,
           parts.total);
    const int64_t threads = int64_t{c.first_item[c.count]} << log_lanes;
    Launch(ctx, CollectKernel<Key, kCapacity>, BlocksFor(threads, kThreads), dim3(kThreads), 0, c,
           parts.bases + first, log_lanes, parts.collected);
  });
  const int bits = std::max(1, static_cast<int>(std::bit_width(plan.end_key)));
  const SortedPairs<Key> sorted =
      SortPairs(ctx, parts.collected.keys, parts.scratch.keys, parts.collected.payloads,
                parts.scratch.payloads, n, bits);
  SelectRunStarts(ctx, sorted.keys, n, parts.starts, parts.num_runs);
  runs.keys = sorted.keys;
  runs.payloads = sorted.values;
}

void Survey(Context& ctx, const OccurrencePlan& plan, const SurveyParts& parts, SortedRuns& runs) {
  const auto groups = static_cast<int64_t>(plan.group_keys.size());
  TESSERA_CHECK(groups <= kMaxGroups,
                "update on {}: tables of {} kinds (rule, dim) in one call; at most {}",
                ctx.device(), groups, kMaxGroups);
  runs.group_begin = parts.group_begin;
  runs.run_chunk = parts.run_chunk;
  runs.chunks = parts.chunks;
  runs.long_runs = parts.long_runs;
  runs.num_chunks = parts.num_chunks;
  runs.num_long_runs = parts.num_long_runs;
  runs.chunk_sums = parts.chunk_sums;
  SurveyArgs a = {};
  a.runs = runs;
  a.parts = parts;
  std::copy(plan.group_keys.begin(), plan.group_keys.end(), a.group_keys);
  a.group_keys[groups] = plan.end_key;
  a.num_groups = static_cast<int>(groups);
  const int64_t most_blocks = int64_t{16} * PropertiesOf(ctx.device()).multiprocessors;
  Launch(
      ctx, SurveyKernel,
      dim3(static_cast<unsigned>(std::min((plan.most_ids + kThreads - 1) / kThreads, most_blocks))),
      dim3(kThreads), 0, a);
}

}  // namespace

OccurrencesOnCuda::OccurrencesOnCuda(Context& ctx, const OccurrencePlan& plan) {
  TESSERA_CHECK(plan.most_ids < int64_t{1} << 32, "update on {}: {} ids in one step; at most 2^32",
                ctx.device(), plan.most_ids);
  runs_.offsets = plan.offsets;
  runs_.bound = static_cast<uint32_t>(plan.most_ids);
  runs_.wide_keys = std::bit_width(plan.end_key) > 32;
  runs_.chunk_stride = plan.chunk_stride;
  if (runs_.wide_keys)
    Build<uint64_t>(ctx, plan);
  else
    Build<uint32_t>(ctx, plan);
}

template <typename Key>
void OccurrencesOnCuda::Build(Context& ctx, const OccurrencePlan& plan) {
  const bool one_block = FitsOneBlock(plan);
  WorkspaceCutter size(nullptr);
  CutOccurrences<Key>(plan, one_block, size);
  workspace_ = Tensor::Empty(ctx, {size.bytes()}, DType::kU8);
  WorkspaceCutter cutter(workspace_.raw_data());
  const auto parts = CutOccurrences<Key>(plan, one_block, cutter);
  runs_.weighted_slots = parts.collected.weighted;
  runs_.starts = parts.starts;
  runs_.num_runs = parts.num_runs;
  if (one_block)
    SortInOneBlock(ctx, plan, parts, runs_);
  else
    SortAll(ctx, plan, parts, runs_);
  if (NeedsSurvey(plan)) Survey(ctx, plan, parts.survey, runs_);
}

}  // namespace tessera::internal
