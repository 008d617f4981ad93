// The lookup from stored rows on a GPU: features of any mix of dims, codecs and outputs travel with
// a launch.
//
// An item is a bag and up to 32 vectors of its columns, or with u8 output an id; a group of 1 to 32
// lanes, as many as the feature's dim fills, sums one item. Each lane asks for kRowsInFlight rows
// before it adds the first. A column is added in the order of the ids, so that all bits are the
// CPU's.
#include <bit>

#include "embedding/lookup/bag_sum.cuh"
#include "embedding/lookup/feature_items.cuh"
#include "embedding/quantized/quantized_lookup_impl.h"
#include "embedding/quantized/row_numbers.cuh"
#include "runtime/base/check.h"
#include "runtime/context.h"

namespace tessera::internal {
namespace {

constexpr int kThreads = 256, kLanesMost = 32;

struct Feature {
  int64_t count;  // items
  const uint8_t* rows;
  void* output;
  IndexArray ids, offsets;
  const float* weights;
  int64_t num_rows, output_stride, first_bag;
  RowLayout layout;
  int32_t dim, pieces;  // items of a bag
  uint8_t log_lanes, width;
  bool aligned;
  DType output_type;
  PoolingType pooling;

  __device__ int64_t Id(int64_t i) const { return ids[i]; }
};

__device__ __forceinline__ BagItem ItemOf(const Feature& f, int64_t index, int lane) {
  const int64_t bag = index / f.pieces;
  const auto piece = static_cast<int>(index - bag * f.pieces);
  return {bag, f.offsets[f.first_bag + bag], f.offsets[f.first_bag + bag + 1],
          ((piece << f.log_lanes) + lane) * f.width};
}

// Stored rows, by bytes.
__device__ void CopyStoredRows(const Feature& f, const BagItem& item, int lane) {
  const int64_t origin = f.offsets[f.first_bag];
  auto* out = static_cast<uint8_t*>(f.output);
  for (int64_t i = item.begin; i < item.end; ++i) {
    const int64_t id = f.Id(i);
    const bool is_row = IsRow(id, f.num_rows);
    const uint8_t* row = f.rows + (is_row ? id : 0) * f.layout.row_bytes;
    for (int64_t b = lane; b < f.layout.used_bytes; b += 1 << f.log_lanes)
      out[(i - origin) * f.output_stride + b] = is_row ? row[b] : uint8_t{0};
  }
}

template <int kWidth, RowReading kReading>
__device__ __forceinline__ void ReadItem(const Feature& f, const BagItem& item) {
  const StoredRowReader<kWidth, kReading> reader{f.rows, f.layout, item.column, f.dim, f.aligned};
  if (f.pooling == PoolingType::kNone)
    CopyRows(f, reader, f.weights, f.offsets[f.first_bag], item);
  else
    SumBag(f, reader, f.weights, item);
}

template <int kWidth>
__device__ void VisitItem(const Feature& f, const BagItem& item) {
  switch (f.layout.reading) {
    case RowReading::kF32:
      return ReadItem<kWidth, RowReading::kF32>(f, item);
    case RowReading::kF16:
      return ReadItem<kWidth, RowReading::kF16>(f, item);
    case RowReading::kBF16:
      return ReadItem<kWidth, RowReading::kBF16>(f, item);
    case RowReading::kHfp8:
      return ReadItem<kWidth, RowReading::kHfp8>(f, item);
    case RowReading::kE4M3:
      return ReadItem<kWidth, RowReading::kE4M3>(f, item);
    case RowReading::kE5M2:
      return ReadItem<kWidth, RowReading::kE5M2>(f, item);
    case RowReading::kAffine8:
      return ReadItem<kWidth, RowReading::kAffine8>(f, item);
    case RowReading::kAffine4:
      return ReadItem<kWidth, RowReading::kAffine4>(f, item);
    case RowReading::kAffine2:
      return ReadItem<kWidth, RowReading::kAffine2>(f, item);
    case RowReading::kMx4:
      return ReadItem<kWidth, RowReading::kMx4>(f, item);
  }
}

// Row y of the grid: feature y.
template <int kCapacity>
__global__ void __launch_bounds__(kThreads)
    QuantizedLookupKernel(const __grid_constant__ FeatureBatch<Feature, kCapacity> batch) {
  const Feature& f = batch.features[blockIdx.y];
  const int lane = static_cast<int>(threadIdx.x) & ((1 << f.log_lanes) - 1);
  const int64_t step = (static_cast<int64_t>(gridDim.x) * kThreads) >> f.log_lanes;
  int64_t index = (static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x) >> f.log_lanes;
  for (; index < f.count; index += step) {
    const BagItem item = ItemOf(f, index, lane);
    if (f.output_type == DType::kU8)
      CopyStoredRows(f, item, lane);
    else if (item.column >= f.dim)
      continue;
    else if (f.width == 4)
      VisitItem<4>(f, item);
    else
      VisitItem<1>(f, item);
  }
}

// ---- the host's side

bool Aligned(const void* p, int64_t bytes) { return reinterpret_cast<uintptr_t>(p) % bytes == 0; }

// Whether rows, codes and parameters lie where a lane's load of `bytes` may.
bool RowsAligned(const QuantizedLookupFeature& f, int64_t bytes) {
  return Aligned(f.rows, bytes) && f.layout.row_bytes % bytes == 0 && f.layout.codes_at % 4 == 0 &&
         f.layout.params_at % 4 == 0;
}

bool TakesVectors(const QuantizedLookupFeature& f) {
  const RowReading reading = f.layout.reading;
  const bool wide = reading == RowReading::kF32,
             half = reading == RowReading::kF16 || reading == RowReading::kBF16;
  return f.dim % 4 == 0 && f.output_stride % 4 == 0 &&
         Aligned(f.output, 4 * SizeOf(f.output_type)) &&
         (!(wide || half) || RowsAligned(f, wide ? 16 : 8));
}

Feature MakeFeature(const QuantizedLookupArgs& args, const QuantizedLookupFeature& f) {
  TESSERA_CHECK(f.dim < (int64_t{1} << 20), "quantized lookup on a GPU: dim {}", f.dim);
  Feature feature = {};
  feature.rows = static_cast<const uint8_t*>(f.rows);
  feature.output = f.output;
  feature.ids = f.ids;
  feature.offsets = args.offsets;
  feature.weights = args.weights;
  feature.num_rows = f.num_rows;
  feature.output_stride = f.output_stride;
  feature.first_bag = f.first_bag;
  feature.layout = f.layout;
  feature.dim = static_cast<int32_t>(f.dim);
  feature.width = TakesVectors(f) ? 4 : 1;
  feature.aligned = RowsAligned(f, 4);
  feature.output_type = f.output_type;
  feature.pooling = f.pooling;
  const int64_t vectors = f.dim / feature.width;
  const auto lanes = static_cast<int64_t>(
      std::bit_ceil(static_cast<uint64_t>(std::min<int64_t>(vectors, kLanesMost))));
  feature.log_lanes = static_cast<uint8_t>(std::bit_width(static_cast<uint64_t>(lanes)) - 1);
  const bool stored = f.output_type == DType::kU8;
  feature.pieces = stored ? 1 : static_cast<int32_t>((vectors + lanes - 1) / lanes);
  feature.count = f.num_bags * feature.pieces;
  return feature;
}

}  // namespace

void QuantizedLookup(OnCuda, Context& ctx, const QuantizedLookupArgs& args) {
  std::vector<Feature> features;
  for (const QuantizedLookupFeature& f : args.features)
    if (f.num_bags > 0) features.push_back(MakeFeature(args, f));
  const int64_t most = int64_t{32} * PropertiesOf(ctx.device()).multiprocessors;
  ForFeatureBatches(std::span<const Feature>(features),
                    [&]<int kCapacity>(const FeatureBatch<Feature, kCapacity>& batch,
                                       std::span<const Feature> part) {
                      int64_t threads = 0;
                      for (const Feature& f : part)
                        threads = std::max(threads, f.count << f.log_lanes);
                      const int64_t blocks = std::min((threads + kThreads - 1) / kThreads, most);
                      Launch(
                          ctx, QuantizedLookupKernel<kCapacity>,
                          dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(part.size())),
                          dim3(kThreads), 0, batch);
                    });
}

}  // namespace tessera::internal
