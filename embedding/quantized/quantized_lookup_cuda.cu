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
  const int64_t bag = index / f.pieces;
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

template <int kWidth, RowReading kReading>
__device__ __forceinline__ void ReadItem(const Feature& f, const BagItem& item, Stage& stage) {
  const StoredRowReader<kWidth, kReading> reader{f.rows, f.layout,  item.column,
                                                 f.dim,  f.aligned, item.column < f.dim};
  if (f.pooling == PoolingType::kNone)
    CopyRows(f, reader, f.weights, f.offsets[f.first_bag], item);
  else
    StoreBag(f, item, SumBag(f, reader, f.weights, item, stage));
}

template <RowReading kReading>
__device__ __forceinline__ void VisitWidth(const Feature& f, const BagItem& item, Stage& stage) {
  if (f.width == WideWidthOf(kReading))
    return ReadItem<WideWidthOf(kReading), kReading>(f, item, stage);
  if constexpr (WideWidthOf(kReading) != 4)
    if (f.width == 4) return ReadItem<4, kReading>(f, item, stage);
  ReadItem<1, kReading>(f, item, stage);
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

// ---- the host's side

// Whether rows, codes and parameters lie where a lane's load of `bytes` may.
bool RowsAligned(const QuantizedLookupFeature& f, int64_t bytes) {
  return IsAligned(f.rows, bytes) && f.layout.row_bytes % bytes == 0 &&
         f.layout.codes_at % 4 == 0 && f.layout.params_at % 4 == 0;
}

// Whether lanes can read WideWidthOf(reading) columns of these rows: by loads of 16 bytes, or as
// LoadWideAffine reads 16 codes, without leaving the row.
bool WideRows(const QuantizedLookupFeature& f) {
  const RowLayout& layout = f.layout;
  if (!RowsAligned(f, 16)) return false;
  const bool eight = layout.reading == RowReading::kAffine8;
  if (!eight && layout.reading != RowReading::kAffine4 && layout.reading != RowReading::kAffine2)
    return true;
  if (layout.params_at % 8 != 0 || layout.params_at + 8 > layout.row_bytes) return false;
  const int64_t late = layout.codes_at % 16, first = layout.codes_at - late;
  return !eight || (late <= 8 && first + f.dim + 8 <= layout.row_bytes);
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

}  // namespace

void QuantizedLookup(OnCuda, Context& ctx, const QuantizedLookupArgs& args) {
  TESSERA_CHECK(args.num_ids < int64_t{1} << 32,
                "quantized lookup on {}: {} ids in one call; at most 2^32", ctx.device(),
                args.num_ids);
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
