#ifndef TESSERA_EMBEDDING_LOOKUP_BAG_SUM_CUH_
#define TESSERA_EMBEDDING_LOOKUP_BAG_SUM_CUH_
// A bag's sum, or its rows, by a group of lanes of a GPU, from rows of any storage. For .cu files.
//
// A lane asks for kRowsInFlight rows, as they are stored, before it looks at the first: the loop
// that asks does nothing but load, as any arithmetic on a row would wait for it, and the rows
// behind it would not be asked for yet. Each column is added in the order of the ids, so that all
// bits are the CPU's.
//
// A Feature has   ids, num_rows, dim, output, output_type, output_stride, pooling and Id(i).
// A Reader has    kWidth; Raw, what is loaded of a row, of which Raw{} stands for zeros; Load(id);
//                 Numbers(raw), a Vector<kWidth>; and has_columns, whether this lane has any.
#include "embedding/config/pooling.h"
#include "embedding/lookup/row_ops.h"
#include "runtime/numbers/dtype.h"
#include "runtime/vector.cuh"

namespace tessera::internal {

// 4 of 16 bytes each, by 32 warps of a multiprocessor, are 64 KiB on their way.
inline constexpr int kRowsInFlight = 4;

// A lane's columns, from `column` on, of a bag: ids [begin, end).
struct BagItem {
  int64_t bag, begin, end;
  int column;
};

template <typename Reader>
struct RowsInFlight {
  static constexpr int kWidth = Reader::kWidth;
  int64_t id[kRowsInFlight];
  typename Reader::Raw raw[kRowsInFlight];
  float weight[kRowsInFlight];

  // Ids [i, i + kRowsInFlight); -1 past `end`.
  template <typename Feature>
  __device__ __forceinline__ void AskForIds(const Feature& f, int64_t i, int64_t end) {
#pragma unroll
    for (int u = 0; u < kRowsInFlight; ++u) id[u] = i + u < end ? f.Id(i + u) : -1;
  }

  // Rows of these ids and, unless `weights` is null, their weights; zeros for ids that name no row:
  // adding them changes no bit of a sum that began with +0.
  __device__ __forceinline__ void AskForRows(const Reader& reader, int64_t num_rows,
                                             const float* weights, int64_t i) {
#pragma unroll
    for (int u = 0; u < kRowsInFlight; ++u) {
      const bool reads = IsRow(id[u], num_rows) && reader.has_columns;
      raw[u] = {};
      weight[u] = 1;
      if (reads) raw[u] = reader.Load(id[u]);
      if (reads && weights != nullptr) weight[u] = weights[i + u];
    }
  }

  // Row u times its weight, which is 1 without weights.
  __device__ __forceinline__ Vector<kWidth> Weighted(const Reader& reader, int u) const {
    Vector<kWidth> x = reader.Numbers(raw[u]);
#pragma unroll
    for (float& number : x.v) number = weight[u] * number;
    return x;
  }
};

template <int kWidth, typename Feature>
__device__ __forceinline__ void StoreNumbers(const Feature& f, int64_t row, int column,
                                             const Vector<kWidth>& x) {
  if (column >= f.dim) return;
  const int64_t at = row * f.output_stride + column;
  if (f.output_type == DType::kF32)
    StreamVector(static_cast<float*>(f.output) + at, x);
  else if (f.output_type == DType::kF16)
    StreamVector(static_cast<Half*>(f.output) + at, x);
  else
    StreamVector(static_cast<BFloat16*>(f.output) + at, x);
}

// MEAN's division, then the store.
template <int kWidth, typename Feature>
__device__ __forceinline__ void StoreBag(const Feature& f, const BagItem& item,
                                         Vector<kWidth> sum) {
  if (f.pooling == PoolingType::kMean && item.end > item.begin) {
    const float length = static_cast<float>(item.end - item.begin);
#pragma unroll
    for (float& x : sum.v) x = x / length;
  }
  StoreNumbers(f, item.bag, item.column, sum);
}

template <typename Feature, typename Reader>
__device__ void SumBag(const Feature& f, const Reader& reader, const float* weights,
                       const BagItem& item) {
  constexpr int kWidth = Reader::kWidth;
  Vector<kWidth> sum = {};
  RowsInFlight<Reader> rows;
  rows.AskForIds(f, item.begin, item.end);
  for (int64_t i = item.begin; i < item.end; i += kRowsInFlight) {
    rows.AskForRows(reader, f.num_rows, weights, i);
    rows.AskForIds(f, i + kRowsInFlight, item.end);
#pragma unroll
    for (int u = 0; u < kRowsInFlight; ++u) {
      const Vector<kWidth> x = rows.Weighted(reader, u);
#pragma unroll
      for (int k = 0; k < kWidth; ++k) sum.v[k] = sum.v[k] + x.v[k];
    }
  }
  StoreBag(f, item, sum);
}

// Pooling NONE: a row of the output for each id; that of id `origin` is row 0.
template <typename Feature, typename Reader>
__device__ void CopyRows(const Feature& f, const Reader& reader, const float* weights,
                         int64_t origin, const BagItem& item) {
  RowsInFlight<Reader> rows;
  for (int64_t i = item.begin; i < item.end; i += kRowsInFlight) {
    rows.AskForIds(f, i, item.end);
    rows.AskForRows(reader, f.num_rows, weights, i);
#pragma unroll
    for (int u = 0; u < kRowsInFlight; ++u)
      if (i + u < item.end)
        StoreNumbers(f, i + u - origin, item.column,
                     weights == nullptr ? reader.Numbers(rows.raw[u]) : rows.Weighted(reader, u));
  }
}

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_LOOKUP_BAG_SUM_CUH_
