// The lookup on a GPU: one launch for up to 256 features, of any mix of dims, row and output types.
//
// An item is a bag and up to 32 vectors of its columns; a group of 1 to 32 lanes, as many as the
// feature's dim fills, sums one item, so that no lane idles at small dims; wide rows are cut into
// several items. A block's items belong to one feature. Bags of more than kLongBag ids are left to
// the whole block: it brings rows into shared memory, and each column is still added in the order
// of the ids, so that all bits are the CPU's.
#include <algorithm>
#include <bit>

#include "embedding/lookup/bag_sum.cuh"
#include "embedding/lookup/lookup_impl.h"
#include "runtime/base/check.h"
#include "runtime/context.h"
#include "runtime/launch.cuh"
#include "runtime/numbers/lanes.h"

namespace tessera::internal {
namespace {

constexpr int kThreads = 256;
// Blocks that a multiprocessor is to hold: 64 registers a thread do for rows of f32; with rows of
// 16 bits, of which a lane has 8 columns, four rows on their way need 80.
template <bool kOnlyF32>
constexpr int kBlocksHeld = kOnlyF32 ? 4 : 3;
constexpr int64_t kLongBag = 256;

// One feature for the kernel. Groups of 2^log_lanes lanes, vectors of `width` elements.
struct Feature {
  const void *rows, *ids;
  void* output;
  int64_t num_rows, output_stride, first_bag;
  uint32_t first_block, num_bags;
  int32_t dim;
  uint16_t pieces;  // items of a bag
  bool wide_ids;
  uint8_t log_lanes, width;
  DType row_type, output_type;
  PoolingType pooling;

  __device__ int64_t Id(int64_t i) const { return IndexArray{ids, wide_ids}[i]; }
};

template <int kCapacity>
struct Batch {
  Feature features[kCapacity];
  int count;
  IndexArray offsets;
  const float* weights;
  bool long_bags;  // there may be some
};

template <int kWidth>
__device__ __forceinline__ BagItem ItemOf(const Feature& f, IndexArray offsets, uint32_t index,
                                          int lane) {
  const uint32_t bag = index / f.pieces;
  return {offsets[f.first_bag + bag], offsets[f.first_bag + bag + 1], bag,
          ((static_cast<int>(index % f.pieces) << f.log_lanes) + lane) * kWidth};
}

template <int kWidthOf, typename Row>
struct RowReader {
  static constexpr int kWidth = kWidthOf, kRun = kWidth;
  static constexpr bool kStagesIds = kWidth > 1;
  using Raw = RawVector<kWidth, Row>;

  const Row* rows;  // from the lane's first column on
  int column, dim;
  bool has_columns;

  __device__ RowReader(const Feature& f, int first_column)
      : rows(static_cast<const Row*>(f.rows) + first_column),
        column(first_column),
        dim(f.dim),
        has_columns(first_column < f.dim) {}
  __device__ __forceinline__ int ColumnOf(int /*run*/) const { return column; }
  __device__ __forceinline__ int64_t row_bytes() const {
    return int64_t{dim} * static_cast<int64_t>(sizeof(Row));
  }
  __device__ __forceinline__ Raw Load(int64_t offset) const {
    return LoadRaw<kWidth>(
        reinterpret_cast<const Row*>(reinterpret_cast<const char*>(rows) + offset));
  }
  __device__ __forceinline__ Vector<kWidth> Numbers(const Raw& raw) const { return Widen(raw); }
};

// The block's shared memory: ids of its bags; which items are long, and a tile of rows, as they are
// stored, for one of them.
struct Shared {
  uint32_t items[kThreads];
  int count;
  float weights[kThreads * kRowsInFlight];
  IdStage<kThreads> stage;
  alignas(16) unsigned char tile[kThreads * kRowsInFlight * 16];
};

// The rows of a long bag that a group of lanes brings for a tile: kRowsInFlight of them.
template <int kWidth, typename Row>
struct TileRows {
  const Feature& f;
  const float* weights;
  const BagItem& item;
  RowReader<kWidth, Row> reader;
  RowsInFlight<RowReader<kWidth, Row>> rows;

  __device__ __forceinline__ void Ask(int64_t i) {
    OwnIds ids(f.num_rows, reader.row_bytes(), weights);
    ids.Ask(f, i, item.end);
    rows.Ask(reader, ids, 0);
  }
  __device__ __forceinline__ void Store(Shared& shared, int first_row, int columns, int lane) {
    Row* tile = reinterpret_cast<Row*>(shared.tile);
#pragma unroll
    for (int u = 0; u < kRowsInFlight; ++u) {
      *reinterpret_cast<RawVector<kWidth, Row>*>(tile + (first_row + u) * columns + lane * kWidth) =
          rows.raw[u];
      if (lane == 0) shared.weights[first_row + u] = rows.weight[u];
    }
  }
};

// One long item, by the whole block. Each group asks for kRowsInFlight rows of a tile; while these
// are on their way, the tile before is added, a thread a column.
template <int kWidth, typename Row>
__device__ void SumLongBag(const Feature& f, IndexArray offsets, const float* weights,
                           uint32_t index, Shared& shared) {
  const int lanes = 1 << f.log_lanes, lane = static_cast<int>(threadIdx.x) & (lanes - 1),
            group = static_cast<int>(threadIdx.x) >> f.log_lanes, columns = lanes * kWidth,
            tile_rows = (kThreads >> f.log_lanes) * kRowsInFlight, own_row = group * kRowsInFlight;
  const BagItem item = ItemOf<kWidth>(f, offsets, index, lane);
  const int first_column = item.column - lane * kWidth, own = static_cast<int>(threadIdx.x);
  float sum = 0;
  TileRows<kWidth, Row> next = {f, weights, item, {f, item.column}, {}};
  next.Ask(item.begin + own_row);
  for (int64_t tile = item.begin; tile < item.end; tile += tile_rows) {
    next.Store(shared, own_row, columns, lane);
    __syncthreads();
    next.Ask(tile + tile_rows + own_row);
    const int count = static_cast<int>(std::min<int64_t>(tile_rows, item.end - tile));
    const Row* column = reinterpret_cast<const Row*>(shared.tile) + own;
    if (own < columns)
      for (int r = 0; r < count; ++r) sum = sum + shared.weights[r] * ToFloat(column[r * columns]);
    __syncthreads();
  }
  if (own >= columns || first_column + own >= f.dim) return;
  StoreRun(f, item.bag, first_column + own, Pooled(f, item, Vector<1>{{sum}}));
}

// The feature's item of this thread's group.
__device__ __forceinline__ uint32_t IndexOfItem(const Feature& f) {
  return ((blockIdx.x - f.first_block) * (kThreads >> f.log_lanes)) +
         (threadIdx.x >> f.log_lanes);  // threads of a feature may be over 2^32
}

template <int kWidth, typename Row, typename AnyBatch>
__device__ void LookupBlock(const AnyBatch& batch, const Feature& f, Shared& shared) {
  if (batch.long_bags) {
    if (threadIdx.x == 0) shared.count = 0;
    __syncthreads();
  }
  const int lane = static_cast<int>(threadIdx.x) & ((1 << f.log_lanes) - 1);
  const uint32_t index = IndexOfItem(f);
  const bool is_item = index < f.num_bags * f.pieces, sums = f.pooling != PoolingType::kNone;
  BagItem item = {0, 0, 0, f.dim};  // no ids, and no columns to store
  if (is_item) item = ItemOf<kWidth>(f, batch.offsets, index, lane);
  const bool is_long = sums && item.end - item.begin > kLongBag;
  if (is_long && lane == 0) shared.items[atomicAdd(&shared.count, 1)] = index;
  if (is_long) item = {0, 0, 0, f.dim};
  const RowReader<kWidth, Row> reader(f, item.column);
  if (!sums) {
    CopyRows(f, reader, nullptr, batch.offsets[f.first_bag], item);
  } else {
    const Vector<kWidth> sum = SumBag(f, reader, batch.weights, item, shared.stage);
    // The bag is computed anew, as its number would be one register too many during the sum.
    StoreNumbers(f, reader, IndexOfItem(f) / f.pieces, Pooled(f, item, sum));
  }
  if (!batch.long_bags) return;
  __syncthreads();
  for (int k = 0; k < shared.count; ++k)
    SumLongBag<kWidth, Row>(f, batch.offsets, batch.weights, shared.items[k], shared);
}

template <typename Row, typename AnyBatch>
__device__ void LookupBlockOf(const AnyBatch& batch, const Feature& f, Shared& shared) {
  if constexpr (sizeof(Row) == 2)
    if (f.width == 8) return LookupBlock<8, Row>(batch, f, shared);
  if (f.width == 4)
    LookupBlock<4, Row>(batch, f, shared);
  else
    LookupBlock<1, Row>(batch, f, shared);
}

// The feature that a block works for: the last whose first block is not after it.
template <int kCapacity>
__device__ const Feature& FeatureOfBlock(const Batch<kCapacity>& batch) {
  int low = 0, high = batch.count;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (batch.features[middle].first_block <= blockIdx.x)
      low = middle;
    else
      high = middle;
  }
  return batch.features[low];
}

template <int kCapacity, bool kOnlyF32>
__global__ void __launch_bounds__(kThreads, kBlocksHeld<kOnlyF32>)
    LookupKernel(const __grid_constant__ Batch<kCapacity> batch) {
  __shared__ Shared shared;
  const Feature& f = FeatureOfBlock(batch);
  if (kOnlyF32 || f.row_type == DType::kF32)
    LookupBlockOf<float>(batch, f, shared);
  else if (f.row_type == DType::kF16)
    LookupBlockOf<Half>(batch, f, shared);
  else
    LookupBlockOf<BFloat16>(batch, f, shared);
}

// ---- the host's side

// Returns how many elements of rows and output a lane can move at a time: 16 bytes of a row, or 8
// of one of 16 bits, or one element.
int64_t WidthOf(const LookupFeature& f) {
  const auto takes = [&](int64_t width) {
    return f.dim % width == 0 && f.output_stride % width == 0 &&
           IsAligned(f.rows, width * SizeOf(f.row_type)) &&
           IsAligned(f.output, std::min<int64_t>(16, width * SizeOf(f.output_type)));
  };
  if (SizeOf(f.row_type) == 2 && takes(8)) return 8;
  return takes(4) ? 4 : 1;
}

Feature MakeFeature(const LookupFeature& f, uint32_t first_block) {
  Feature feature = {};
  feature.rows = f.rows;
  feature.ids = f.ids.data;
  feature.wide_ids = f.ids.wide;
  feature.output = f.output;
  feature.num_rows = f.num_rows;
  feature.output_stride = f.output_stride;
  feature.first_bag = f.first_bag;
  feature.num_bags = static_cast<uint32_t>(f.num_bags);
  feature.dim = static_cast<int32_t>(f.dim);
  feature.row_type = f.row_type;
  feature.output_type = f.output_type;
  feature.pooling = f.pooling;
  feature.first_block = first_block;
  feature.width = static_cast<uint8_t>(WidthOf(f));
  const int64_t vectors = f.dim / feature.width;
  const auto lanes = static_cast<int64_t>(
      std::bit_ceil(static_cast<uint64_t>(std::min<int64_t>(vectors, kLanes))));
  feature.log_lanes = static_cast<uint8_t>(std::bit_width(static_cast<uint64_t>(lanes)) - 1);
  feature.pieces = static_cast<uint16_t>((vectors + lanes - 1) / lanes);
  return feature;
}

int64_t BlocksOf(const Feature& f) {
  const int64_t items = int64_t{f.num_bags} * f.pieces;
  return ((items << f.log_lanes) + kThreads - 1) / kThreads;
}

template <int kCapacity>
void LaunchLookup(Context& ctx, const LookupArgs& args, std::span<const LookupFeature> features) {
  Batch<kCapacity> batch;
  batch.count = 0;
  batch.offsets = args.offsets;
  batch.weights = args.weights;
  batch.long_bags = args.num_ids > kLongBag;
  int64_t blocks = 0;
  for (const LookupFeature& f : features) {
    TESSERA_CHECK(f.dim < (int64_t{1} << 20) && f.num_bags < (int64_t{1} << 31) / (f.dim / 32 + 1),
                  "lookup on {}: dim {} and {} bags of one feature", ctx.device(), f.dim,
                  f.num_bags);
    if (f.num_bags == 0) continue;
    batch.features[batch.count] = MakeFeature(f, static_cast<uint32_t>(blocks));
    blocks += BlocksOf(batch.features[batch.count++]);
  }
  TESSERA_CHECK(blocks < int64_t{1} << 31, "lookup on {}: {} blocks in one call", ctx.device(),
                blocks);
  const bool only_f32 = std::all_of(features.begin(), features.end(), [](const LookupFeature& f) {
    return f.row_type == DType::kF32;
  });
  const auto kernel = only_f32 ? LookupKernel<kCapacity, true> : LookupKernel<kCapacity, false>;
  Launch(ctx, kernel, dim3(static_cast<unsigned>(blocks)), dim3(kThreads), 0, batch);
}

}  // namespace

// Arguments travel with the launch (some 80 bytes a feature), so that nothing is copied apart: few
// features are not to pay for many.
void Lookup(OnCuda, Context& ctx, const LookupArgs& args) {
  constexpr size_t kMax = 256;
  TESSERA_CHECK(args.num_ids < int64_t{1} << 32, "lookup on {}: {} ids in one call; at most 2^32",
                ctx.device(), args.num_ids);
  for (size_t begin = 0; begin < args.features.size(); begin += kMax) {
    const auto part = args.features.subspan(begin, std::min(kMax, args.features.size() - begin));
    if (part.size() <= 16)
      LaunchLookup<16>(ctx, args, part);
    else if (part.size() <= 64)
      LaunchLookup<64>(ctx, args, part);
    else
      LaunchLookup<kMax>(ctx, args, part);
  }
}

}  // namespace tessera::internal
