// The loops of a lookup from stored rows, compiled once for each instruction set: a bag is summed a
// block of columns at a time, the block's sums in registers, as floats whatever rows and output
// are; rows are asked for ahead of time, into the first-level cache.
#include <algorithm>

#include "embedding/lookup/lookup_impl.h"
#include "embedding/quantized/quantized_lookup_impl.h"
#include "embedding/quantized/row_readers.h"

namespace tessera::internal::TESSERA_ISA {
namespace {

// Packs of a column block: as many as registers hold beside a row's constants (AVX-512 has 32, the
// others 16). Wider rows are read again for each block, from the caches.
#if defined(__AVX512F__)
constexpr int kBlockPacks = 16;
#else
constexpr int kBlockPacks = 8;
#endif
constexpr int kBlock = kBlockPacks * Pack::kSize;

// Rows ahead, as many as embedding/lookup/lookup_simd.cc has, but within part of the first-level
// cache: from there lookups take 10 to 20 % less than from the second (8 tables of 10^6 rows, Zen
// 5).
constexpr int64_t kRowsAhead = 64, kBytesAhead = 24 << 10;
constexpr int64_t kLine = 64;  // bytes of a cache's line

// One feature's rows and the ids to come.
struct Source {
  const uint8_t* rows;
  int64_t num_rows, dim, ahead, last;
  int64_t lines;  // of a cache, most that a row lies in
  RowLayout layout;
  IndexArray ids;
  const float* weights;

  explicit Source(const QuantizedPiece& p)
      : rows(static_cast<const uint8_t*>(p.feature->rows)),
        num_rows(p.feature->num_rows),
        dim(p.feature->dim),
        ahead(kRowsAhead),
        last(p.offsets[p.feature->first_bag + p.feature->num_bags] - 1),
        layout(p.feature->layout),
        ids(p.feature->ids),
        weights(p.weights) {
    const int64_t alignment = std::min<int64_t>(kLine, layout.row_bytes & -layout.row_bytes);
    lines = (kLine - alignment + layout.used_bytes - 1) / kLine + 1;
    const int64_t fit = kBytesAhead / layout.row_bytes;
    if (fit < ahead) ahead = fit < 2 ? 2 : fit;
  }
  // Prefetches the row that is `ahead` ids after id number i. An id that names no row gives an
  // address that is not read: a prefetch of it is harmless. Every row gets the same number of
  // lines, wherever it begins: a branch that depends on it is mispredicted for every other row of
  // 36 bytes.
  __attribute__((always_inline)) void PrefetchAhead(int64_t i) const {
    const int64_t next = i + ahead < last ? i + ahead : last;
    const auto row = static_cast<int64_t>(static_cast<uint64_t>(ids[next]) *
                                          static_cast<uint64_t>(layout.row_bytes));
    const char* at = reinterpret_cast<const char*>(rows) + row;
    for (int64_t k = 0; k + 1 < lines; ++k) PrefetchLine<PrefetchFor::kRead>(at + k * kLine);
    PrefetchLine<PrefetchFor::kRead>(at + layout.used_bytes - 1);
  }
  // The row of id number i, or null if it names none.
  __attribute__((always_inline)) const uint8_t* RowOf(int64_t i) const {
    const int64_t id = ids[i];
    return IsRow(id, num_rows) ? rows + id * layout.row_bytes : nullptr;
  }
};

struct Bag {
  int64_t begin, end;
  bool mean;
  float divisor;  // L under MEAN
};

// Columns [column, column + kPacks·Pack::kSize) of one bag, to `out`; with kPacks = 0 the last
// `tail` columns.
template <typename Reader, int kPacks>
void SumColumns(const Source& shared_source, const Bag& bag, int64_t column, int tail, float* out,
                bool stream) {
  const Source source = shared_source;  // in registers
  constexpr int kSums = kPacks > 0 ? kPacks : 1;
  constexpr bool kStrided = Reader::kStride > 1 && kPacks > 0 && kPacks % Reader::kStride == 0;
  Pack sum[kSums];
  TESSERA_UNROLL
  for (int k = 0; k < kSums; ++k) sum[k] = Pack(0.0f);
  for (int64_t i = bag.begin; i < bag.end; ++i) {
    if (column == 0) source.PrefetchAhead(i);
    const uint8_t* row = source.RowOf(i);
    if (row == nullptr) continue;
    const Reader reader(row, source.layout, column, source.dim,
                        Reader::kWithWeight ? source.weights[i] : 1.0f);
    if constexpr (kPacks == 0) {
      sum[0] = sum[0] + reader.First(tail);
    } else {
      TESSERA_UNROLL
      for (int k = 0; k < kPacks; ++k) {
        if constexpr (kStrided)
          sum[k] = sum[k] + reader.Strided(k);
        else
          sum[k] = sum[k] + reader.Values(k);
      }
    }
  }
  if constexpr (kStrided) Reader::InOrder(sum);
  if (bag.mean) {
    TESSERA_UNROLL
    for (int k = 0; k < kSums; ++k) sum[k] = sum[k] / Pack(bag.divisor);
  }
  if constexpr (kPacks == 0) {
    sum[0].StoreFirst(out, tail);
  } else if (stream) {
    TESSERA_UNROLL
    for (int k = 0; k < kPacks; ++k) sum[k].Stream(out + k * Pack::kSize);
  } else {
    TESSERA_UNROLL
    for (int k = 0; k < kPacks; ++k) sum[k].Store(out + k * Pack::kSize);
  }
}

using Columns = void (*)(const Source&, const Bag&, int64_t, int, float*, bool);

template <typename Out>
void StoreSums(const float* sums, int n, Out* out, bool stream) {
  int d = 0;
  for (; d + Pack::kSize <= n; d += Pack::kSize) {
    if (stream)
      Pack::Load(sums + d).Stream(out + d);
    else
      Pack::Load(sums + d).Store(out + d);
  }
  if (d < n) Pack::LoadFirst(sums + d, n - d).StoreFirst(out + d, n - d);
}

// The columns behind a row's whole blocks go in blocks of 8, 4, 2 and 1 packs: a function for each
// number of packs would be twice the code, and saves few dims a walk over the bag.
template <typename Reader, typename Out>
void PooledBags(const QuantizedPiece& p) {
  const LookupFeature& f = *p.feature;
  const Source source(p);
  const auto dim = static_cast<int>(f.dim), packs = dim % kBlock / Pack::kSize,
             tail = dim % Pack::kSize;
  const bool stream = p.stream && PacksAreAligned<Out>(f, Pack::kSize);
  for (int64_t b = p.begin; b < p.end; ++b) {
    const int64_t begin = p.offsets[f.first_bag + b], end = p.offsets[f.first_bag + b + 1];
    const Bag bag{begin, end, f.pooling == PoolingType::kMean && end > begin,
                  static_cast<float>(end - begin)};
    Out* out = f.OutputAt<Out>(b);
    int column = 0;
    const auto sum_block = [&](Columns sum, int n, int tail_columns) {
      if constexpr (std::same_as<Out, float>) {
        sum(source, bag, column, tail_columns, out + column, stream);
      } else {
        alignas(64) float sums[kBlock];
        sum(source, bag, column, tail_columns, sums, /*stream=*/false);
        StoreSums(sums, n, out + column, stream && tail_columns == 0);
      }
      column += n;
    };
    while (column + kBlock <= dim) sum_block(SumColumns<Reader, kBlockPacks>, kBlock, 0);
    if constexpr (kBlockPacks > 8)
      if (packs & 8) sum_block(SumColumns<Reader, 8>, 8 * Pack::kSize, 0);
    if (packs & 4) sum_block(SumColumns<Reader, 4>, 4 * Pack::kSize, 0);
    if (packs & 2) sum_block(SumColumns<Reader, 2>, 2 * Pack::kSize, 0);
    if (packs & 1) sum_block(SumColumns<Reader, 1>, Pack::kSize, 0);
    if (tail > 0) sum_block(SumColumns<Reader, 0>, tail, tail);
  }
  if (stream) StoreFence();
}

template <typename Reader, typename Out>
void ReadRow(const Source& source, const uint8_t* row, Out* out, bool stream) {
  const int tail = static_cast<int>(source.dim % Pack::kSize);
  const int64_t packs = source.dim / Pack::kSize;
  if (packs > 0) {
    const Reader reader(row, source.layout, 0, source.dim, 1.0f);
    for (int k = 0; k < packs; ++k) {
      if (stream)
        reader.Values(k).Stream(out + k * Pack::kSize);
      else
        reader.Values(k).Store(out + k * Pack::kSize);
    }
  }
  if (tail > 0)
    Reader(row, source.layout, source.dim - tail, source.dim, 1.0f)
        .First(tail)
        .StoreFirst(out + source.dim - tail, tail);
}

// fn(id number, its row or null) for the ids of a piece.
template <typename Fn>
void ForEachRow(const QuantizedPiece& p, const Fn& fn) {
  const LookupFeature& f = *p.feature;
  const Source source(p);
  const int64_t begin = p.offsets[f.first_bag + p.begin], end = p.offsets[f.first_bag + p.end];
  for (int64_t i = begin; i < end; ++i) {
    source.PrefetchAhead(i);
    fn(source, i - p.offsets[f.first_bag], source.RowOf(i));
  }
}

template <typename Reader, typename Out>
void DecodedRows(const QuantizedPiece& p) {
  const LookupFeature& f = *p.feature;
  const bool stream = p.stream && PacksAreAligned<Out>(f, Pack::kSize);
  ForEachRow(p, [&](const Source& source, int64_t j, const uint8_t* row) {
    Out* out = f.OutputAt<Out>(j);
    if (row != nullptr)
      ReadRow<Reader>(source, row, out, stream);
    else
      __builtin_memset(out, 0, static_cast<size_t>(f.dim) * sizeof(Out));
  });
  if (stream) StoreFence();
}

void StoredRows(const QuantizedPiece& p) {
  const LookupFeature& f = *p.feature;
  const auto bytes = static_cast<size_t>(p.feature->layout.used_bytes);
  ForEachRow(p, [&](const Source&, int64_t j, const uint8_t* row) {
    auto* out = f.OutputAt<uint8_t>(j);
    if (row != nullptr)
      __builtin_memcpy(out, row, bytes);
    else
      __builtin_memset(out, 0, bytes);
  });
}

template <bool kWeighted>
void VisitedBags(const QuantizedPiece& p) {
  VisitReader<kWeighted>(p.feature->layout.reading, [&]<typename Reader>() {
    VisitRowType(p.feature->output_type, [&]<typename Out>() { PooledBags<Reader, Out>(p); });
  });
}

}  // namespace

void QuantizedLookupBags(const QuantizedPiece& p) {
  if (p.weights != nullptr)
    VisitedBags<true>(p);
  else
    VisitedBags<false>(p);
}

void QuantizedLookupRows(const QuantizedPiece& p) {
  if (p.feature->output_type == DType::kU8) return StoredRows(p);
  VisitReader<false>(p.feature->layout.reading, [&]<typename Reader>() {
    VisitRowType(p.feature->output_type, [&]<typename Out>() { DecodedRows<Reader, Out>(p); });
  });
}

}  // namespace tessera::internal::TESSERA_ISA
