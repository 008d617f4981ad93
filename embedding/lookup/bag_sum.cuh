#ifndef TESSERA_EMBEDDING_LOOKUP_BAG_SUM_CUH_
#define TESSERA_EMBEDDING_LOOKUP_BAG_SUM_CUH_
// A bag's sum, or its rows, by a group of lanes of a GPU, from rows of any storage. For .cu files.
//
// A lane asks for kRowsInFlight rows, as they are stored, before it looks at the first: the loop
// that asks does nothing but load, as any arithmetic on a row would wait for it, and the rows
// behind it would not be asked for yet. Ids and weights of the rows after these are asked for a
// chunk ahead (bag_ids.cuh). Each column is added in the order of the ids, so that all bits are the
// CPU's.
//
// A Feature has   ids, num_rows, dim, output, output_type, output_stride, pooling and Id(i).
// A Reader has    kWidth; row_bytes(); Raw, what is loaded of a row, of which Raw{} stands for
//                 zeros; Load(offset), of the row at this byte; Numbers(raw), a Vector<kWidth>;
//                 has_columns, whether this lane has any; kRun, as many columns as lie side by
//                 side, run r from ColumnOf(r) on; and kStagesIds, whether a group of lanes shares
//                 the load of its ids (worth its code where rows are read by 16 bytes).
//
// All lanes of a warp call SumBag and CopyRows together, those without a bag with an empty one.
#include <algorithm>

#include "embedding/config/pooling.h"
#include "embedding/lookup/bag_ids.cuh"
#include "runtime/numbers/dtype.h"
#include "runtime/vector.cuh"

namespace tessera::internal {

// A lane's columns, from `column` on, of a bag: ids [begin, end).
struct BagItem {
  int64_t begin, end;
  uint32_t bag;
  int column;
};

template <typename Reader>
struct RowsInFlight {
  static constexpr int kWidth = Reader::kWidth;
  typename Reader::Raw raw[kRowsInFlight];
  float weight[kRowsInFlight];

  // Rows place … place + kRowsInFlight - 1 of the chunk in work; zeros for ids that name no row:
  // adding them changes no bit of a sum that began with +0.
  template <typename Ids>
  __device__ __forceinline__ void Ask(const Reader& reader, const Ids& ids, int place) {
    int64_t row[kRowsInFlight];
    ids.Get(place, row, weight);
#pragma unroll
    for (int u = 0; u < kRowsInFlight; ++u) {
      raw[u] = {};
      if (row[u] >= 0 && reader.has_columns) raw[u] = reader.Load(row[u]);
    }
  }

  // Row u becomes row u - 1.
  __device__ __forceinline__ void Shift() {
#pragma unroll
    for (int u = 1; u < kRowsInFlight; ++u) {
      raw[u - 1] = raw[u];
      weight[u - 1] = weight[u];
    }
  }

  // Row u times its weight, which is 1 without weights.
  __device__ __forceinline__ Vector<kWidth> Weighted(const Reader& reader, int u) const {
    Vector<kWidth> x = reader.Numbers(raw[u]);
#pragma unroll
    for (float& number : x.v) number = weight[u] * number;
    return x;
  }

  // Adds the rows in order. A product with 1 changes no bit, so it can be left out.
  template <bool kWeighted>
  __device__ __forceinline__ void Add(const Reader& reader, Vector<kWidth>& sum) const {
#pragma unroll
    for (int u = 0; u < kRowsInFlight; ++u) {
      const Vector<kWidth> x = kWeighted ? Weighted(reader, u) : reader.Numbers(raw[u]);
#pragma unroll
      for (int k = 0; k < kWidth; ++k) sum.v[k] = sum.v[k] + x.v[k];
    }
  }
};

template <int kWidth, typename Feature>
__device__ __forceinline__ void StoreRun(const Feature& f, int64_t row, int column,
                                         const Vector<kWidth>& x) {
  const int64_t at = row * f.output_stride + column;
  if (f.output_type == DType::kF32)
    StreamVector(static_cast<float*>(f.output) + at, x);
  else if (f.output_type == DType::kF16)
    StreamVector(static_cast<Half*>(f.output) + at, x);
  else
    StreamVector(static_cast<BFloat16*>(f.output) + at, x);
}

template <typename Feature, typename Reader>
__device__ __forceinline__ void StoreNumbers(const Feature& f, const Reader& reader, int64_t row,
                                             const Vector<Reader::kWidth>& x) {
  if (!reader.has_columns) return;
#pragma unroll
  for (int r = 0; r < Reader::kWidth / Reader::kRun; ++r) {
    Vector<Reader::kRun> run;
#pragma unroll
    for (int k = 0; k < Reader::kRun; ++k) run.v[k] = x.v[r * Reader::kRun + k];
    StoreRun(f, row, reader.ColumnOf(r), run);
  }
}

// MEAN's division.
template <int kWidth, typename Feature>
__device__ __forceinline__ Vector<kWidth> Pooled(const Feature& f, const BagItem& item,
                                                 Vector<kWidth> sum) {
  if (f.pooling == PoolingType::kMean && item.end > item.begin) {
    const float length = static_cast<float>(item.end - item.begin);
#pragma unroll
    for (float& x : sum.v) x = x / length;
  }
  return sum;
}

// Calls use(rows, k) for the rows of ids item.begin + [k, k + kRowsInFlight), k from 0 on, of which
// those from item.end on are zeros.
template <typename Ids, typename Feature, typename Reader, typename Use>
__device__ __forceinline__ void ForRows(Ids& ids, const Feature& f, const Reader& reader,
                                        const BagItem& item, const Use& use) {
  const uint32_t longest = LongestOfWarp(static_cast<uint32_t>(item.end - item.begin));
  RowsInFlight<Reader> rows;
  ids.Ask(f, item.begin, item.end);
  for (uint32_t done = 0; done < longest; done += static_cast<uint32_t>(ids.chunk())) {
    const int64_t next = item.begin + done + ids.chunk();
    if constexpr (Ids::kStaged) {
      ids.Take();
      ids.Ask(f, next, item.end);
    }
    const auto places =
        static_cast<int>(std::min(static_cast<uint32_t>(ids.chunk()), longest - done));
#pragma unroll 1
    for (int place = 0; place < places; place += kRowsInFlight) {
      rows.Ask(reader, ids, place);
      if constexpr (!Ids::kStaged) ids.Ask(f, next, item.end);
      use(rows, done + static_cast<uint32_t>(place));
    }
  }
}

template <bool kWeighted, typename Ids, typename Feature, typename Reader>
__device__ __forceinline__ Vector<Reader::kWidth> SumRows(Ids& ids, const Feature& f,
                                                          const Reader& reader,
                                                          const BagItem& item) {
  Vector<Reader::kWidth> sum = {};
  ForRows(ids, f, reader, item, [&](const RowsInFlight<Reader>& rows, uint32_t) {
    rows.template Add<kWeighted>(reader, sum);
  });
  return sum;
}

// The sum of a bag by a group of at least kRowsInFlight lanes. REQUIRES: weights, if kWeighted.
template <bool kWeighted, int kThreads, typename Feature, typename Reader>
__device__ __forceinline__ Vector<Reader::kWidth> SumStaged(const Feature& f, const Reader& reader,
                                                            const float* weights,
                                                            const BagItem& item,
                                                            IdStage<kThreads>& stage) {
  StagedIds<kThreads> ids(stage, f.log_lanes, f.num_rows, reader.row_bytes(), weights);
  return SumRows<kWeighted>(ids, f, reader, item);
}

template <int kThreads, typename Feature, typename Reader>
__device__ __forceinline__ Vector<Reader::kWidth> SumBag(const Feature& f, const Reader& reader,
                                                         const float* weights, const BagItem& item,
                                                         IdStage<kThreads>& stage) {
  if (Reader::kStagesIds && 1 << f.log_lanes >= kRowsInFlight)
    return SumStaged<true>(f, reader, weights, item, stage);
  OwnIds ids(f.num_rows, reader.row_bytes(), weights);
  return SumRows<true>(ids, f, reader, item);
}

// Pooling NONE: a row of the output for each id; that of id `origin` is row 0.
template <typename Feature, typename Reader>
__device__ __forceinline__ void CopyRows(const Feature& f, const Reader& reader,
                                         const float* weights, int64_t origin,
                                         const BagItem& item) {
  const int64_t first = item.begin - origin;
  const auto length = static_cast<uint32_t>(item.end - item.begin);
  const auto store = [&](RowsInFlight<Reader>& rows, uint32_t k) {
#pragma unroll 1  // conversions and stores for each output type are much code
    for (uint32_t u = 0; u < kRowsInFlight && k + u < length; ++u, rows.Shift())
      StoreNumbers(f, reader, first + (k + u),
                   weights == nullptr ? reader.Numbers(rows.raw[0]) : rows.Weighted(reader, 0));
  };
  OwnIds ids(f.num_rows, reader.row_bytes(), weights);
  ForRows(ids, f, reader, item, store);
}

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_LOOKUP_BAG_SUM_CUH_
