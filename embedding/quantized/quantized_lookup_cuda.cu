// The lookup from stored rows on a GPU. Features of any mix of dims and outputs travel with a
// launch: bags of wide rows with one for each way of reading rows, all else with one more.
//
// An item is a bag and up to 32 vectors of its columns, or with u8 output an id; a group of 1 to 32
// lanes, as many as the feature's dim fills, sums one item. Each lane asks for kRowsInFlight rows
// before it adds the first. A column is added in the order of the ids, so that all bits are the
// CPU's.
#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <vector>

#include "embedding/lookup/bag_sum.cuh"
#include "embedding/lookup/feature_items.cuh"
#include "embedding/quantized/quantized_lookup_impl.h"
#include "embedding/quantized/row_numbers.cuh"
#include "runtime/base/check.h"
#include "runtime/context.h"

namespace tessera::internal {
namespace {

constexpr int kThreads = 256, kLanesMost = 32;
constexpr int kBlocksHeld = 2;  // of a multiprocessor: 128 registers a thread

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
  const int64_t bag = f.pieces == 1 ? index : index / f.pieces;
  const auto piece = static_cast<int>(index - bag * f.pieces);
  return {f.offsets[f.first_bag + bag], f.offsets[f.first_bag + bag + 1],
          static_cast<uint32_t>(bag), ((piece << f.log_lanes) + lane) * f.width};
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

using Stage = IdStage<kThreads>;

template <typename Reader>
__device__ __forceinline__ void ReadItem(const Feature& f, const Reader& reader,
                                         const BagItem& item, Stage& stage) {
  if (f.pooling == PoolingType::kNone)
    CopyRows(f, reader, f.weights, f.offsets[f.first_bag], item);
  else
    StoreNumbers(f, reader, item.bag, Pooled(f, item, SumBag(f, reader, f.weights, item, stage)));
}

template <int kWidth, RowReading kReading>
__device__ __forceinline__ StoredRowReader<kWidth, kReading> ReaderOf(const Feature& f,
                                                                      const BagItem& item) {
  return {f.rows, f.layout, item.column, f.dim, f.aligned, item.column < f.dim};
}

template <int kWidth, RowReading kReading>
__device__ __forceinline__ void ReadWidth(const Feature& f, const BagItem& item, Stage& stage) {
  ReadItem(f, ReaderOf<kWidth, kReading>(f, item), item, stage);
}

template <int kBits, bool kF32Params>
__device__ __forceinline__ void ReadWideAffine(const Feature& f, const BagItem& item,
                                               Stage& stage) {
  ReadItem(f, WideAffineReader<kBits, kF32Params>(f.rows, f.layout, item.column, f.dim), item,
           stage);
}

template <RowReading kReading>
__device__ __forceinline__ void VisitWidth(const Feature& f, const BagItem& item, Stage& stage) {
  constexpr int kWide = WideWidthOf(kReading), kBits = AffineBitsOf(kReading);
  if (f.width == kWide) {
    if constexpr (kBits == 0) return ReadWidth<kWide, kReading>(f, item, stage);
    if constexpr (kBits == 8)
      if (f.layout.f32_params) return ReadWideAffine<kBits, true>(f, item, stage);
    if constexpr (kBits > 0) return ReadWideAffine<kBits, false>(f, item, stage);
  }
  if constexpr (kWide != 4)
    if (f.width == 4) return ReadWidth<4, kReading>(f, item, stage);
  ReadWidth<1, kReading>(f, item, stage);
}

__device__ __forceinline__ void VisitItem(const Feature& f, const BagItem& item, Stage& stage) {
  switch (f.layout.reading) {
    case RowReading::kF32:
      return VisitWidth<RowReading::kF32>(f, item, stage);
    case RowReading::kF16:
      return VisitWidth<RowReading::kF16>(f, item, stage);
    case RowReading::kBF16:
      return VisitWidth<RowReading::kBF16>(f, item, stage);
    case RowReading::kHfp8:
      return VisitWidth<RowReading::kHfp8>(f, item, stage);
    case RowReading::kE4M3:
      return VisitWidth<RowReading::kE4M3>(f, item, stage);
    case RowReading::kE5M2:
      return VisitWidth<RowReading::kE5M2>(f, item, stage);
    case RowReading::kAffine8:
      return VisitWidth<RowReading::kAffine8>(f, item, stage);
    case RowReading::kAffine4:
      return VisitWidth<RowReading::kAffine4>(f, item, stage);
    case RowReading::kAffine2:
      return VisitWidth<RowReading::kAffine2>(f, item, stage);
    case RowReading::kMx4:
      return VisitWidth<RowReading::kMx4>(f, item, stage);
  }
}

// Row y of the grid: feature y. All lanes of a warp go round together.
template <int kCapacity>
__global__ void __launch_bounds__(kThreads, kBlocksHeld)
    QuantizedLookupKernel(const __grid_constant__ FeatureBatch<Feature, kCapacity> batch) {
  __shared__ Stage stage;
  const Feature& f = batch.features[blockIdx.y];
  const int lane = static_cast<int>(threadIdx.x) & ((1 << f.log_lanes) - 1);
  const int64_t step = (static_cast<int64_t>(gridDim.x) * kThreads) >> f.log_lanes,
                group = (threadIdx.x & 31) >> f.log_lanes;
  int64_t first =
      (static_cast<int64_t>(blockIdx.x) * kThreads + (threadIdx.x & ~31u)) >> f.log_lanes;
  for (; first < f.count; first += step) {
    BagItem item = {0, 0, 0, f.dim};  // no ids, and no columns to store
    if (first + group < f.count) item = ItemOf(f, first + group, lane);
    if (f.output_type == DType::kU8)
      CopyStoredRows(f, item, lane);
    else
      VisitItem(f, item, stage);
  }
}

// ---- sums of wide rows

// Blocks of a multiprocessor: 64 registers a thread, or 80 where 64 do not suffice.
constexpr int SumBlocksHeld(RowReading reading, bool f32_params, bool weighted) {
  return reading == RowReading::kAffine8 && (f32_params || weighted) ? 3 : 4;
}

template <RowReading kReading, bool kF32Params>
__device__ __forceinline__ auto WideReaderOf(const Feature& f, const BagItem& item) {
  constexpr int kBits = AffineBitsOf(kReading);
  if constexpr (kBits > 0)
    return WideAffineReader<kBits, kF32Params>(f.rows, f.layout, item.column, f.dim);
  else
    return ReaderOf<WideWidthOf(kReading), kReading>(f, item);
}

// Row y of the grid: feature y; a group of lanes for each item. One way of reading rows, and no
// loop over items, so that a thread holds few registers, and many warps wait for memory side by
// side.
template <RowReading kReading, bool kF32Params, bool kWeighted, int kCapacity>
__global__ void __launch_bounds__(kThreads, SumBlocksHeld(kReading, kF32Params, kWeighted))
    QuantizedSumKernel(const __grid_constant__ FeatureBatch<Feature, kCapacity> batch) {
  __shared__ Stage stage;
  const Feature& f = batch.features[blockIdx.y];
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x,
                index = thread >> f.log_lanes;
  const bool is_empty_warp = (thread & ~int64_t{31}) >> f.log_lanes >= f.count;
  if (is_empty_warp) return;
  BagItem item = {0, 0, 0, f.dim};  // no ids, and no columns to store
  if (index < f.count)
    item = ItemOf(f, index, static_cast<int>(threadIdx.x) & ((1 << f.log_lanes) - 1));
  const auto reader = WideReaderOf<kReading, kF32Params>(f, item);
  const float* weights = kWeighted ? f.weights : nullptr;
  StoreNumbers(f, reader, item.bag,
               Pooled(f, item, SumStaged<kWeighted>(f, reader, weights, item, stage)));
}

// ---- the host's side

// Whether rows, codes and parameters lie where a lane's load of `bytes` may.
bool RowsAligned(const QuantizedLookupFeature& f, int64_t bytes) {
  return IsAligned(f.rows, bytes) && f.layout.row_bytes % bytes == 0 &&
         f.layout.codes_at % 4 == 0 && f.layout.params_at % 4 == 0;
}

// Whether lanes can read WideWidthOf(reading) columns of these rows: by loads of 16 bytes, or as
// WideAffineReader does. That asks for codes which begin where a lane's load may, or behind
// parameters which do.
bool WideRows(const QuantizedLookupFeature& f) {
  const RowLayout& layout = f.layout;
  if (!RowsAligned(f, 16)) return false;
  const int bits = AffineBitsOf(layout.reading), param_bytes = layout.f32_params ? 8 : 4;
  if (bits == 0) return true;
  const int late = layout.codes_at % (2 * bits), begin = layout.codes_at - late;
  return layout.params_at % param_bytes == 0 && (bits == 8 || !layout.f32_params) &&
         (late == 0 || (late == param_bytes && layout.params_at == begin));
}

// Returns how many columns a lane can read and write at a time.
int WidthOf(const QuantizedLookupFeature& f) {
  const RowReading reading = f.layout.reading;
  const int64_t output_bytes = SizeOf(f.output_type);
  const bool half = reading == RowReading::kF16 || reading == RowReading::kBF16;
  const auto takes = [&](int64_t width) {
    const int64_t most = std::min<int64_t>(16, width * output_bytes);
    return f.dim % width == 0 && f.output_stride * output_bytes % most == 0 &&
           IsAligned(f.output, most);
  };
  const int wide = WideWidthOf(reading);
  if (takes(wide) && (reading == RowReading::kMx4 || WideRows(f))) return wide;
  const bool four = reading != RowReading::kF32 && takes(4) && (!half || RowsAligned(f, 8));
  return four ? 4 : 1;
}

Feature MakeFeature(const QuantizedLookupArgs& args, const QuantizedLookupFeature& f) {
  TESSERA_CHECK(f.dim < (int64_t{1} << 20) && f.num_bags < (int64_t{1} << 32),
                "quantized lookup on a GPU: dim {} and {} bags of one feature", f.dim, f.num_bags);
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
  feature.width = static_cast<uint8_t>(WidthOf(f));
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

// A row of blocks for each feature, as many as the largest fills, or `most`.
dim3 GridOf(std::span<const Feature> features, int64_t most) {
  int64_t threads = 0;
  for (const Feature& f : features) threads = std::max(threads, f.count << f.log_lanes);
  const int64_t blocks = std::min((threads + kThreads - 1) / kThreads, most);
  return dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(features.size()));
}

// Whether a QuantizedSumKernel sums the feature's bags: groups of lanes share the load of their
// ids, columns are read by WideAffineReader, or by 16 bytes of f32, f16 or bf16, and a grid holds
// as many blocks.
bool IsSummedWide(const Feature& f) {
  const RowReading reading = f.layout.reading;
  const bool is_plain =
      reading == RowReading::kF32 || reading == RowReading::kF16 || reading == RowReading::kBF16;
  return f.pooling != PoolingType::kNone && 1 << f.log_lanes >= kRowsInFlight &&
         f.width == WideWidthOf(reading) && (is_plain || AffineBitsOf(reading) > 0) &&
         f.count < (int64_t{kThreads} << 30) >> f.log_lanes;
}

// The sums of those of the features whose rows are read so.
template <RowReading kReading, bool kF32Params = false>
void LaunchSums(Context& ctx, std::span<const Feature> features, bool weighted) {
  std::vector<Feature> own;
  std::copy_if(features.begin(), features.end(), std::back_inserter(own), [](const Feature& f) {
    return f.layout.reading == kReading &&
           (kReading != RowReading::kAffine8 || f.layout.f32_params == kF32Params);
  });
  ForFeatureBatches(std::span<const Feature>(own),
                    [&]<int kCapacity>(const FeatureBatch<Feature, kCapacity>& batch,
                                       std::span<const Feature> part) {
                      const dim3 grid = GridOf(part, std::numeric_limits<int64_t>::max());
                      const auto kernel =
                          weighted ? QuantizedSumKernel<kReading, kF32Params, true, kCapacity>
                                   : QuantizedSumKernel<kReading, kF32Params, false, kCapacity>;
                      Launch(ctx, kernel, grid, dim3(kThreads), 0, batch);
                    });
}

}  // namespace

// A launch for each way of reading wide rows that is there, and one for all other features.
void QuantizedLookup(OnCuda, Context& ctx, const QuantizedLookupArgs& args) {
  TESSERA_CHECK(args.num_ids < int64_t{1} << 32,
                "quantized lookup on {}: {} ids in one call; at most 2^32", ctx.device(),
                args.num_ids);
  std::vector<Feature> sums, others;
  for (const QuantizedLookupFeature& f : args.features) {
    if (f.num_bags == 0) continue;
    const Feature feature = MakeFeature(args, f);
    (IsSummedWide(feature) ? sums : others).push_back(feature);
  }
  const bool weighted = args.weights != nullptr;
  LaunchSums<RowReading::kF32>(ctx, sums, weighted);
  LaunchSums<RowReading::kF16>(ctx, sums, weighted);
  LaunchSums<RowReading::kBF16>(ctx, sums, weighted);
  LaunchSums<RowReading::kAffine8, false>(ctx, sums, weighted);
  LaunchSums<RowReading::kAffine8, true>(ctx, sums, weighted);
  LaunchSums<RowReading::kAffine4>(ctx, sums, weighted);
  LaunchSums<RowReading::kAffine2>(ctx, sums, weighted);
  const int64_t most = int64_t{32} * PropertiesOf(ctx.device()).multiprocessors;
  ForFeatureBatches(std::span<const Feature>(others),
                    [&]<int kCapacity>(const FeatureBatch<Feature, kCapacity>& batch,
                                       std::span<const Feature> part) {
                      Launch(ctx, QuantizedLookupKernel<kCapacity>, GridOf(part, most),
                             dim3(kThreads), 0, batch);
                    });
}

}  // namespace tessera::internal
