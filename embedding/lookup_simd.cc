// The loops of a lookup, compiled once for each instruction set. A bag is summed a block of columns
// at a time, the block's sums in registers; rows are asked for ahead of time, into the second-level
// cache.
#include "embedding/lookup_impl.h"
#include "runtime/lanes.h"
#include "runtime/simd.h"

namespace tessera::internal::TESSERA_ISA {
namespace {

// Packs of a column block: as many sums as registers hold beside the row (AVX-512 has 32, the
// others 16).
#if defined(__AVX512F__)
constexpr int kBlockPacks = 16;
#else
constexpr int kBlockPacks = 8;
#endif

// Rows ahead: 64 hides the latency of memory for rows of 64 to 512 bytes (best of 8, 16, 32, 64);
// longer rows are fewer, so that what is on its way stays within 64 KiB.
constexpr int64_t kRowsAhead = 64, kBytesAhead = 64 << 10;

// One feature's rows and the ids to come.
struct Reader {
  const float* rows;
  int64_t num_rows, dim, ahead, last;
  IndexArray ids;

  explicit Reader(const LookupPiece& p)
      : rows(p.feature->rows),
        num_rows(p.feature->num_rows),
        dim(p.feature->dim),
        ahead(kRowsAhead),
        last(p.offsets[p.feature->first_bag + p.feature->num_bags] - 1),
        ids(p.feature->ids) {
    const int64_t fit = kBytesAhead / (dim * static_cast<int64_t>(sizeof(float)));
    if (fit < ahead) ahead = fit < 2 ? 2 : fit;
  }
  // Where the columns from `column` on of the row that is `ahead` ids after id number i lie. An id
  // that names no row gives an address that is not read: a prefetch of it is harmless.
  const float* RowAhead(int64_t i, int64_t column) const {
    const int64_t next = i + ahead < last ? i + ahead : last;
    return rows +
           static_cast<int64_t>(static_cast<uint64_t>(ids[next]) * static_cast<uint64_t>(dim)) +
           column;
  }
  __attribute__((always_inline)) void PrefetchWholeRow(int64_t i) const {
    Prefetch<PrefetchFor::kToL2>(RowAhead(i, 0), dim * static_cast<long>(sizeof(float)));
  }
  // The row of id number i, or null if it names none.
  const float* Row(int64_t i) const {
    const int64_t id = ids[i];
    return IsRow(id, num_rows) ? rows + id * dim : nullptr;
  }
};

struct Bag {
  int64_t begin, end;
  const float* weights;  // of the KJT, or null
  float divisor;         // L under MEAN, else 1
  bool mean;
};

// The cache lines of kPacks packs and `tail` more floats.
template <int kPacks>
inline __attribute__((always_inline)) void PrefetchColumns(const float* p, int tail) {
  constexpr int kStep = Pack::kSize < 16 ? 16 / Pack::kSize : 1;
  TESSERA_UNROLL
  for (int k = 0; k < kPacks; k += kStep) __builtin_prefetch(p + k * Pack::kSize, 0, 2);
  __builtin_prefetch(p + kPacks * Pack::kSize + tail - 1, 0, 2);
}

// Columns [column, column + kPacks·Pack::kSize + tail) of one bag.
template <bool kWeighted, int kPacks, bool kTail>
void SumColumns(const Reader& shared_reader, const Bag& bag, int64_t column, int tail, float* out,
                bool stream) {
  const Reader reader = shared_reader;  // in registers
  constexpr int kSums = kPacks + (kTail ? 1 : 0);
  Pack sum[kSums];
  TESSERA_UNROLL
  for (int k = 0; k < kSums; ++k) sum[k] = Pack(0.0f);
  for (int64_t i = bag.begin; i < bag.end; ++i) {
    PrefetchColumns<kPacks>(reader.RowAhead(i, column), tail);
    const int64_t id = reader.ids[i];
    if (!IsRow(id, reader.num_rows)) continue;
    const float* row = Opaque(reader.rows + id * reader.dim + column);
    const Pack weight = Pack(kWeighted ? bag.weights[i] : 1.0f);
    TESSERA_UNROLL
    for (int k = 0; k < kSums; ++k) {
      const Pack value = kTail && k == kPacks ? Pack::LoadFirst(row + k * Pack::kSize, tail)
                                              : Pack::Load(row + k * Pack::kSize);
      sum[k] = sum[k] + (kWeighted ? weight * value : value);
    }
  }
  if (bag.mean) {
    TESSERA_UNROLL
    for (int k = 0; k < kSums; ++k) sum[k] = sum[k] / Pack(bag.divisor);
  }
  out += column;
  if (stream) {
    TESSERA_UNROLL
    for (int k = 0; k < kPacks; ++k) sum[k].Stream(out + k * Pack::kSize);
  } else {
    TESSERA_UNROLL
    for (int k = 0; k < kPacks; ++k) sum[k].Store(out + k * Pack::kSize);
  }
  if constexpr (kTail) sum[kPacks].StoreFirst(out + kPacks * Pack::kSize, tail);
}

using Columns = void (*)(const Reader&, const Bag&, int64_t, int, float*, bool);

// The function for a block of `packs` whole packs, with or without a tail; at least one of both.
template <bool kWeighted, int kPacks = kBlockPacks>
Columns ColumnsFor(int packs, bool tail) {
  if constexpr (kPacks == 0)
    return SumColumns<kWeighted, 0, true>;
  else if (packs == kPacks)
    return tail ? SumColumns<kWeighted, kPacks, true> : SumColumns<kWeighted, kPacks, false>;
  else
    return ColumnsFor<kWeighted, kPacks - 1>(packs, tail);
}

template <bool kWeighted>
void PooledBags(const LookupPiece& p) {
  const LookupFeature& f = *p.feature;
  const Reader reader(p);
  const int64_t block = int64_t{kBlockPacks} * Pack::kSize, full_columns = f.dim / block * block;
  const int rest = static_cast<int>(f.dim - full_columns), rest_packs = rest / Pack::kSize,
            tail = rest % Pack::kSize;
  const Columns full = ColumnsFor<kWeighted>(kBlockPacks, false),
                last = ColumnsFor<kWeighted>(rest_packs, tail != 0);
  const bool aligned = (reinterpret_cast<uintptr_t>(f.output) |
                        static_cast<uintptr_t>(f.output_stride) * sizeof(float)) %
                           (Pack::kSize * sizeof(float)) ==
                       0;
  const bool stream = p.stream && aligned;
  for (int64_t b = p.begin; b < p.end; ++b) {
    const int64_t begin = p.offsets[f.first_bag + b], end = p.offsets[f.first_bag + b + 1];
    const Bag bag{begin, end, p.weights, static_cast<float>(end - begin),
                  f.pooling == PoolingType::kMean && end > begin};
    float* out = f.output + b * f.output_stride;
    for (int64_t column = 0; column < full_columns; column += block)
      full(reader, bag, column, 0, out, stream);
    if (rest > 0) last(reader, bag, full_columns, tail, out, stream);
  }
  if (stream) StoreFence();
}

void CopyRow(const float* row, int64_t dim, float* out) {
  int64_t d = 0;
  for (; d + Pack::kSize <= dim; d += Pack::kSize)
    (row ? Pack::Load(row + d) : Pack(0.0f)).Store(out + d);
  const int tail = static_cast<int>(dim - d);
  if (tail > 0) (row ? Pack::LoadFirst(row + d, tail) : Pack(0.0f)).StoreFirst(out + d, tail);
}

// Σ_d a_d·b_d in lane order, in double: products are exact, and the sum of a wide row of either
// sign keeps its digits.
float Dot(const float* a, const float* b, int64_t dim) {
  double lane[kLanes] = {};
  int64_t d = 0;
  for (; d + kLanes <= dim; d += kLanes)
    for (int l = 0; l < kLanes; ++l)
      lane[l] += static_cast<double>(a[d + l]) * static_cast<double>(b[d + l]);
  for (int l = 0; d + l < dim; ++l)
    lane[l] += static_cast<double>(a[d + l]) * static_cast<double>(b[d + l]);
  return static_cast<float>(FoldLanes(lane));
}

}  // namespace

void LookupBags(const LookupPiece& piece) {
  if (piece.weights != nullptr)
    PooledBags<true>(piece);
  else
    PooledBags<false>(piece);
}

void LookupRows(const LookupPiece& p) {
  const LookupFeature& f = *p.feature;
  const Reader reader(p);
  const int64_t origin = p.offsets[f.first_bag];
  const int64_t begin = p.offsets[f.first_bag + p.begin], end = p.offsets[f.first_bag + p.end];
  for (int64_t i = begin; i < end; ++i) {
    reader.PrefetchWholeRow(i);
    CopyRow(reader.Row(i), f.dim, f.output + (i - origin) * f.output_stride);
  }
}

void LookupWeightGradients(const LookupPiece& p) {
  const LookupFeature& f = *p.feature;
  const Reader reader(p);
  for (int64_t b = p.begin; b < p.end; ++b) {
    const int64_t begin = p.offsets[f.first_bag + b], end = p.offsets[f.first_bag + b + 1];
    const float scale = f.pooling == PoolingType::kMean ? MeanScale(end - begin) : 1.0f;
    for (int64_t i = begin; i < end; ++i) {
      reader.PrefetchWholeRow(i);
      const float* row = reader.Row(i);
      p.grad_weights[i] = row ? scale * Dot(f.output + b * f.output_stride, row, f.dim) : 0.0f;
    }
  }
}

}  // namespace tessera::internal::TESSERA_ISA
