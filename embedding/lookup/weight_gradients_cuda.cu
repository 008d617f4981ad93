// Gradients of per-sample weights on a GPU: ⟨gradient of its bag, its row⟩ for each id, one launch
// for many features.
//
// A group of lanes takes a bag. The partial sums of a row (runtime/numbers/lanes.h) lie kWidth in
// each lane, so that 8 lanes read a row by vectors of 4 elements, or 32 lanes element by element.
// Rows are asked for kRows at a time, kVectors of each, before the first product.
#include <algorithm>
#include <span>
#include <vector>

#include "embedding/config/pooling.h"
#include "embedding/lookup/bag_ids.cuh"
#include "embedding/lookup/feature_items.cuh"
#include "embedding/lookup/lookup_impl.h"
#include "runtime/context.h"
#include "runtime/launch.cuh"
#include "runtime/numbers/lanes.h"
#include "runtime/vector.cuh"

namespace tessera::internal {
namespace {

constexpr int kThreads = 256;
constexpr int kRows = 2, kVectors = 2;

struct GradientFeature {
  const void* rows;
  const void* grad;
  IndexArray ids;
  int64_t num_rows, grad_stride, first_bag, count;  // count: bags
  int32_t dim;
  DType row_type, grad_type;
  PoolingType pooling;
  bool by_vectors;

  int64_t threads() const { return count * (by_vectors ? kLanes / 4 : kLanes); }
};

// The rows of a bag that a group has in work; null for ids that name none, or that there are not.
template <typename Row>
struct RowsOfBag {
  const Row* at[kRows];

  __device__ __forceinline__ RowsOfBag(const GradientFeature& f, const int64_t (&ids)[kRows]) {
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      at[r] =
          IsRow(ids[r], f.num_rows) ? static_cast<const Row*>(f.rows) + ids[r] * f.dim : nullptr;
  }
};

// This lane's partial sums of ⟨grad, row⟩. Columns past the row add +0, which changes no bit.
template <int kWidth, typename Row, typename Grad>
__device__ __forceinline__ void AddProducts(const Grad* grad, DType grad_type,
                                            const RowsOfBag<Row>& rows, int dim, int lane,
                                            double (&sums)[kRows][kWidth]) {
  for (int column = lane * kWidth; column < dim; column += kVectors * kLanes) {
    RawVector<kWidth, Row> raw[kRows][kVectors];
    RawVector<kWidth, Grad> of_bag[kVectors];
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int at = column + v * kLanes;
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        raw[r][v] = {};
        if (at < dim && rows.at[r] != nullptr) raw[r][v] = LoadRaw<kWidth>(rows.at[r] + at);
      }
      of_bag[v] = {};
      if (at < dim) of_bag[v] = LoadRaw<kWidth>(grad + at);
    }
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const Vector<kWidth> g = WidenAs<kWidth>(of_bag[v], grad_type);
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const Vector<kWidth> x = Widen<kWidth>(raw[r][v]);
#pragma unroll
        for (int e = 0; e < kWidth; ++e)
          sums[r][e] += static_cast<double>(g.v[e]) * static_cast<double>(x.v[e]);
      }
    }
  }
}

// Folds the partial sums of a group of kLanes / kWidth lanes, as FoldLanes does.
template <int kWidth>
__device__ __forceinline__ double Fold(double (&sums)[kWidth]) {
#pragma unroll
  for (int half = kLanes / 2; half >= kWidth; half /= 2)
#pragma unroll
    for (int e = 0; e < kWidth; ++e) sums[e] += __shfl_xor_sync(~0u, sums[e], half / kWidth);
#pragma unroll
  for (int half = kWidth / 2; half > 0; half /= 2)
#pragma unroll
    for (int e = 0; e < half; ++e) sums[e] += sums[e + half];
  return sums[0];
}

// All lanes of a warp walk their bags together, as far as the longest goes.
template <int kWidth, typename Row, typename Grad>
__device__ void GradientsOfBags(const GradientFeature& f, IndexArray offsets, float* grad_weights) {
  constexpr int kGroup = kLanes / kWidth;
  const int lane = static_cast<int>(threadIdx.x % kGroup);
  const int64_t bag = (static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kGroup;
  const bool is_bag = bag < f.count;
  const int64_t begin = is_bag ? offsets[f.first_bag + bag] : 0,
                end = is_bag ? offsets[f.first_bag + bag + 1] : 0;
  const float scale = f.pooling == PoolingType::kMean ? MeanScale(end - begin) : 1.0f;
  const Grad* grad = static_cast<const Grad*>(f.grad) + (is_bag ? bag * f.grad_stride : 0);
  const uint32_t longest = LongestOfWarp(static_cast<uint32_t>(end - begin));
  int64_t ids[kRows];
  const auto ask = [&](int64_t first) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) ids[r] = first + r < end ? f.ids[first + r] : -1;
  };
  ask(begin);
  for (uint32_t done = 0; done < longest; done += kRows) {
    const int64_t first = begin + done;
    const RowsOfBag<Row> rows(f, ids);
    ask(first + kRows);
    double sums[kRows][kWidth] = {};
    AddProducts<kWidth>(grad, f.grad_type, rows, f.dim, lane, sums);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const float dot = static_cast<float>(Fold<kWidth>(sums[r]));
      if (lane == 0 && first + r < end)
        grad_weights[first + r] = rows.at[r] != nullptr ? scale * dot : 0.0f;
    }
  }
}

template <typename Row, typename Grad>
__device__ void GradientsOf(const GradientFeature& f, IndexArray offsets, float* grad_weights) {
  if (f.by_vectors)
    GradientsOfBags<4, Row, Grad>(f, offsets, grad_weights);
  else
    GradientsOfBags<1, Row, Grad>(f, offsets, grad_weights);
}

// Row y of the grid: feature y. Grad: an element of the gradients, float or uint16_t, whose 16 bits
// are of grad_type.
template <typename Grad, int kCapacity>
__global__ void __launch_bounds__(kThreads)
    WeightGradientKernel(const __grid_constant__ FeatureBatch<GradientFeature, kCapacity> batch,
                         IndexArray offsets, float* grad_weights) {
  const GradientFeature& f = batch.features[blockIdx.y];
  if (f.row_type == DType::kF32)
    GradientsOf<float, Grad>(f, offsets, grad_weights);
  else if (f.row_type == DType::kF16)
    GradientsOf<Half, Grad>(f, offsets, grad_weights);
  else
    GradientsOf<BFloat16, Grad>(f, offsets, grad_weights);
}

GradientFeature MakeFeature(const LookupFeature& f) {
  GradientFeature feature = {};
  feature.rows = f.rows;
  feature.grad = f.output;
  feature.ids = f.ids;
  feature.num_rows = f.num_rows;
  feature.grad_stride = f.output_stride;
  feature.first_bag = f.first_bag;
  feature.count = f.num_bags;
  feature.dim = static_cast<int32_t>(f.dim);
  feature.row_type = f.row_type;
  feature.grad_type = f.output_type;
  feature.pooling = f.pooling;
  feature.by_vectors = f.dim % 4 == 0 && f.output_stride % 4 == 0 &&
                       IsAligned(f.output, 4 * SizeOf(f.output_type)) &&
                       IsAligned(f.rows, 4 * SizeOf(f.row_type));
  return feature;
}

}  // namespace

void LookupWeightGradients(OnCuda, Context& ctx, const LookupArgs& args, float* grad_weights) {
  std::vector<GradientFeature> features;
  for (const LookupFeature& f : args.features) features.push_back(MakeFeature(f));
  ForFeatureBatches(
      std::span<const GradientFeature>(features),
      [&]<int kCapacity>(const FeatureBatch<GradientFeature, kCapacity>& batch,
                         std::span<const GradientFeature> part) {
        int64_t threads = 0;
        for (const GradientFeature& f : part) threads = std::max(threads, f.threads());
        const dim3 blocks(BlocksFor(threads, kThreads).x, static_cast<unsigned>(part.size()));
        const auto kernel = part[0].grad_type == DType::kF32
                                ? WeightGradientKernel<float, kCapacity>
                                : WeightGradientKernel<uint16_t, kCapacity>;
        Launch(ctx, kernel, blocks, dim3(kThreads), 0, batch, args.offsets, grad_weights);
      });
}

}  // namespace tessera::internal
