#ifndef TESSERA_EMBEDDING_UPDATE_GRADIENT_SUMS_CUH_
#define TESSERA_EMBEDDING_UPDATE_GRADIENT_SUMS_CUH_
// The sum of a row's gradient over its occurrences on a GPU, in row_ops.h's order, and what the
// kernels of an update share. For .cu files.
#include <algorithm>

#include "embedding/update/update_cuda.h"
#include "runtime/context.h"
#include "runtime/launch.cuh"
#include "runtime/numbers/lanes.h"
#include "runtime/vector.cuh"

namespace tessera::internal {

inline constexpr int kUpdateThreads = 256;
// Gradient rows that a lane asks for before it adds the first: of a chunk of a long run; and of a
// short run, whose kernel has no registers for more.
inline constexpr int kGradsInFlight = 4, kGradsOfShortRun = 2;

// GradElement: an element of the gradients, float or uint16_t, whose 16 bits are of gradient_type.
template <typename GradElement, int kTables, int kFeatures>
struct GroupArgs {
  using Grad = GradElement;

  SortedRuns runs;
  CudaTable tables[kTables];
  CudaFeature features[kFeatures];
  uint64_t first_key, end_key;
  uint32_t index;
  int64_t step;
  int num_tables, log_lanes;
  bool compact;
  bool has_coefficients, has_scales;  // whether any differs from 1
  DType gradient_type;
  int32_t shared_stride;  // floats of a group of lanes
  int32_t runs_of_group;  // that a group of lanes takes a round (update_register_rows.cuh)
};

// The lanes that work on one row.
struct Lanes {
  int log, lane;
  unsigned mask;
  __device__ __forceinline__ explicit Lanes(int log_lanes)
      : log(log_lanes), lane(static_cast<int>(threadIdx.x) & ((1 << log_lanes) - 1)) {
    const unsigned all = log == 5 ? ~0u : (1u << (1 << log)) - 1;
    mask = all << ((threadIdx.x & 31) & ~((1u << log) - 1));
  }
  __device__ __forceinline__ int count() const { return 1 << log; }
};

// The feature of the table that a slot of the batch belongs to, by its place in a.features.
template <typename Args>
__device__ __forceinline__ int FeatureOf(const Args& a, const CudaTable& table, uint32_t slot) {
  int f = table.first_feature;
  for (const int last = f + table.num_features - 1;
       f < last && a.features[f + 1].first_slot <= slot;)
    ++f;
  return f;
}

// Gradients of up to kCount occurrences of a row, asked for in steps: all payloads, all
// weighted slots, all gradients, all bags' lengths. A step does nothing with what it asked for, so
// that a lane waits once a step, not once an occurrence.
template <typename Grad, int kWidth, int kCount>
struct GradientsInFlight {
  uint32_t slot[kCount];
  float coefficient[kCount];
  RawVector<kWidth, Grad> grad[kCount];

  // Occurrences [i, i + kCount); those past `end` have gradients of 0.
  template <typename Args>
  __device__ __forceinline__ void Ask(const Args& a, const CudaTable& table, uint32_t i,
                                      uint32_t end, int column) {
#pragma unroll
    for (int u = 0; u < kCount; ++u) slot[u] = i + u < end ? a.runs.payloads[i + u] : 0;
    if (a.runs.weighted_slots != nullptr) {
      WeightedSlot weighted[kCount];
#pragma unroll
      for (int u = 0; u < kCount; ++u) {
        weighted[u] = {0, 1.0f};
        if (i + u < end) weighted[u] = a.runs.weighted_slots[slot[u]];
      }
#pragma unroll
      for (int u = 0; u < kCount; ++u) {
        slot[u] = weighted[u].slot;
        coefficient[u] = weighted[u].weight;
      }
    } else {
#pragma unroll
      for (int u = 0; u < kCount; ++u) coefficient[u] = 1.0f;
    }
    int feature[kCount];  // a number: through a pointer, arguments would be read as memory
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
      feature[u] = FeatureOf(a, table, slot[u]);
      grad[u] = {};
      if (i + u >= end) continue;
      const CudaFeature& f = a.features[feature[u]];
      const int64_t row = slot[u] - f.first_slot;
      grad[u] = LoadRaw<kWidth>(static_cast<const Grad*>(f.grad) + row * f.stride + column);
    }
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
      const CudaFeature& f = a.features[feature[u]];
      if (i + u >= end || !f.mean) continue;
      const int64_t bag = f.first_bag + (slot[u] - f.first_slot);
      coefficient[u] = coefficient[u] * MeanScale(a.runs.offsets[bag + 1] - a.runs.offsets[bag]);
    }
  }
};

// Columns [column, column + kWidth) of the sum over occurrences [begin, end), one chunk: from 0, in
// order. (What is past the end adds +0 to a sum that began with +0: no bit changes.)
template <int kWidth, int kCount, typename Args>
__device__ __forceinline__ Vector<kWidth> SumOccurrences(const Args& a, const CudaTable& table,
                                                         uint32_t begin, uint32_t end, int column) {
  Vector<kWidth> sum = {};
  GradientsInFlight<typename Args::Grad, kWidth, kCount> grads;
  for (uint32_t i = begin; i < end; i += kCount) {
    grads.Ask(a, table, i, end, column);
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
      const Vector<kWidth> grad = WidenAs<kWidth>(grads.grad[u], a.gradient_type);
#pragma unroll
      for (int k = 0; k < kWidth; ++k) sum.v[k] = sum.v[k] + grads.coefficient[u] * grad.v[k];
    }
  }
  return sum;
}

// Sums a whole short run, chunks added in order.
template <int kWidth, typename Args>
__device__ __forceinline__ Vector<kWidth> SumRun(const Args& a, const CudaTable& table,
                                                 uint32_t begin, uint32_t end, int column) {
  constexpr uint32_t kStep = kChunk;
  Vector<kWidth> total = SumOccurrences<kWidth, kGradsOfShortRun>(
      a, table, begin, std::min(begin + kStep, end), column);
  for (uint32_t chunk = begin + kStep; chunk < end; chunk += kStep) {
    const Vector<kWidth> part = SumOccurrences<kWidth, kGradsOfShortRun>(
        a, table, chunk, std::min(chunk + kStep, end), column);
#pragma unroll
    for (int k = 0; k < kWidth; ++k) total.v[k] = total.v[k] + part.v[k];
  }
  return total;
}

// sums[k] = Σ_d of term k of column d, in lane order; every lane gets them. terms(d, x), called
// with a width w, writes those of columns [d, d + w) into x[k]. A group of fewer than kLanes lanes
// has at most one vector a lane: columns that the order folds lie at the same place of two lanes'
// vectors, and those of its last folds in one vector.
template <int kWidth, int kTerms, typename Terms>
__device__ __forceinline__ void SumInLanes(const Lanes& lanes, int dim, const Terms& terms,
                                           float* sums) {
  if (lanes.log == 5) {
#pragma unroll
    for (int k = 0; k < kTerms; ++k) sums[k] = 0;
    for (int d = lanes.lane; d < dim; d += kLanes) {
      Vector<1> x[kTerms];
      terms.template operator()<1>(d, x);
#pragma unroll
      for (int k = 0; k < kTerms; ++k) sums[k] = sums[k] + x[k].v[0];
    }
#pragma unroll
    for (int k = 0; k < kTerms; ++k)
      for (int half = kLanes / 2; half > 0; half /= 2)
        sums[k] = sums[k] + __shfl_xor_sync(lanes.mask, sums[k], half);
    return;
  }
  Vector<kWidth> x[kTerms] = {};
  const int d = lanes.lane * kWidth;
  if (d < dim) terms.template operator()<kWidth>(d, x);
#pragma unroll
  for (int k = 0; k < kTerms; ++k) {
#pragma unroll
    for (float& number : x[k].v) number = 0.0f + number;  // every sum begins with +0
    for (int half = lanes.count() / 2; half > 0; half /= 2)
#pragma unroll
      for (float& number : x[k].v) number = number + __shfl_xor_sync(lanes.mask, number, half);
#pragma unroll
    for (int half = kWidth / 2; half > 0; half /= 2)
#pragma unroll
      for (int i = 0; i < half; ++i) x[k].v[i] = x[k].v[i] + x[k].v[i + half];
    sums[k] = x[k].v[0];
  }
}

// Rows that lie in registers, a vector of so many columns a lane (update_register_rows.cuh): all
// lanes of a warp call these together.
inline constexpr int kWarp = 32, kVectorColumns = 4;

// The sum of 4 to 16 lanes' columns, in lane order, which every lane of the group gets: columns
// that the order folds lie at the same place of two lanes' vectors. In the first two folds a lane
// keeps half of the places, and gives the others away.
__device__ __forceinline__ float SumOfGroup(const Lanes& lanes, const Vector<kVectorColumns>& x) {
  const int far = lanes.count() / 2, near = lanes.count() / 4;
  const bool is_far = (lanes.lane & far) != 0, is_near = (lanes.lane & near) != 0;
  float pair[2];
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    const float low = 0.0f + x.v[k], high = 0.0f + x.v[k + 2];  // every sum begins with +0
    pair[k] = (is_far ? high : low) + __shfl_xor_sync(~0u, is_far ? low : high, far);
  }
  float sum =
      (is_near ? pair[1] : pair[0]) + __shfl_xor_sync(~0u, is_near ? pair[0] : pair[1], near);
  for (int half = near / 2; half > 0; half /= 2) sum = sum + __shfl_xor_sync(~0u, sum, half);
  sum = sum + __shfl_xor_sync(~0u, sum, far);
  return sum + __shfl_xor_sync(~0u, sum, near);
}

// The sums of a warp's columns for each of kRows rows, in lane order: lane l adds columns l,
// l + 32, l + 64 and l + 96, through shared memory. `row` is the row whose sum a lane gets.
template <int kRows>
__device__ __forceinline__ float SumOfWarp(const Vector<kVectorColumns> (&x)[kRows], int row,
                                           float* shared) {
  static_assert(kRows == 2 || kRows == 4);
  const int lane = static_cast<int>(threadIdx.x & (kWarp - 1));
  __syncwarp();
#pragma unroll
  for (int u = 0; u < kRows; ++u)
    StoreShared(shared + u * kWarp * kVectorColumns + lane * kVectorColumns,
                {x[u].v[0], x[u].v[1], x[u].v[2], x[u].v[3]});
  __syncwarp();
  float sum[kRows];
#pragma unroll
  for (int u = 0; u < kRows; ++u) {
    const float* columns = shared + u * kWarp * kVectorColumns + lane;
    sum[u] = 0;
#pragma unroll
    for (int k = 0; k < kVectorColumns; ++k) sum[u] = sum[u] + columns[k * kWarp];
  }
  // Each fold halves the rows that a lane goes on with.
  int half = kWarp / 2;
#pragma unroll
  for (int rows = kRows; rows > 1; rows /= 2, half /= 2) {
    const bool upper = (lane & half) != 0;
#pragma unroll
    for (int u = 0; u < rows / 2; ++u) {
      const float low = sum[u], high = sum[u + rows / 2];
      sum[u] = (upper ? high : low) + __shfl_xor_sync(~0u, upper ? low : high, half);
    }
  }
#pragma unroll
  for (; half > 0; half /= 2) sum[0] = sum[0] + __shfl_xor_sync(~0u, sum[0], half);
  return __shfl_sync(~0u, sum[0], row * (kWarp / kRows) & (kWarp - 1));
}

// The table that a key belongs to.
template <typename Args>
__device__ __forceinline__ int TableOf(const Args& a, uint64_t key) {
  int low = 0, high = a.num_tables;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (a.tables[middle].first_key <= key)
      low = middle;
    else
      high = middle;
  }
  return low;
}

// ---- the host's side

// A row's gradient and weights, and as many floats between two groups of lanes as make their
// vectors lie side by side in the banks of shared memory.
inline int32_t SharedStride(const CudaGroup& group) {
  constexpr int kBanks = 32;
  const int floats = 2 * ((group.max_dim + 3) / 4 * 4), beside = group.width << group.log_lanes;
  return floats + ((beside - floats) & (kBanks - 1));
}

template <typename Grad, int kTables, int kFeatures>
void FillGroupArgs(const CudaRows& rows, GroupArgs<Grad, kTables, kFeatures>& args) {
  const CudaGroup& group = *rows.group;
  args.runs = *rows.runs;
  std::copy(group.tables.begin(), group.tables.end(), args.tables);
  std::copy(group.features.begin(), group.features.end(), args.features);
  args.first_key = group.first_key;
  args.end_key = group.end_key;
  args.index = group.index;
  args.num_tables = static_cast<int>(group.tables.size());
  args.log_lanes = group.log_lanes;
  args.step = rows.step;
  args.compact = rows.compact;
  args.gradient_type = group.gradient_type;
  args.has_coefficients = args.runs.weighted_slots != nullptr;
  for (const CudaFeature& feature : group.features) args.has_coefficients |= feature.mean;
  args.has_scales = false;
  for (const CudaTable& table : group.tables) args.has_scales |= table.gradient_scale != 1.0f;
  args.shared_stride = SharedStride(group);
}

// Few tables are not to pay for many: arguments travel with each launch. Calls fn with the element
// of the group's gradients and a pair of capacities that holds the group (update_cuda.cu cuts
// groups to fit the larger). (32,764 bytes of arguments are the most.)
inline constexpr int kMaxTables = 80, kMaxFeatures = 256;
template <typename Fn>
void WithGroupArgs(const CudaGroup& group, Fn&& fn) {
  const auto with = [&]<typename Grad>() {
    if (group.tables.size() <= 16 && group.features.size() <= 16)
      fn.template operator()<Grad, 16, 16>();
    else
      fn.template operator()<Grad, kMaxTables, kMaxFeatures>();
  };
  if (group.gradient_type == DType::kF32)
    with.template operator()<float>();
  else
    with.template operator()<uint16_t>();
}

// Returns as many blocks of `groups` as could be needed, but no more than a few times what the
// device holds.
inline dim3 BlocksForGroups(Context& ctx, int64_t items, int64_t groups) {
  const int64_t most = int64_t{16} * PropertiesOf(ctx.device()).multiprocessors;
  return dim3(static_cast<unsigned>(std::min((items + groups - 1) / groups, most)));
}

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_UPDATE_GRADIENT_SUMS_CUH_
