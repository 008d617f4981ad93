// The loops of a lookup, compiled once for each instruction set. A bag is summed a block of columns
// at a time, the block's sums in registers, as floats whatever the rows and the output are; rows
// are asked for ahead of time, into the second-level cache.
#include <concepts>

#include "embedding/lookup/lookup_impl.h"
#include "runtime/numbers/lanes.h"
#include "runtime/numbers/simd.h"

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
template <typename Row>
struct Reader {
  const Row* rows;
  int64_t num_rows, dim, ahead, last;
  IndexArray ids;

  explicit Reader(const LookupPiece& p)
      : rows(p.feature->RowAt<Row>(0)),
        num_rows(p.feature->num_rows),
        dim(p.feature->dim),
        ahead(kRowsAhead),
        last(p.offsets[p.feature->first_bag + p.feature->num_bags] - 1),
        ids(p.feature->ids) {
    const int64_t fit = kBytesAhead / (dim * static_cast<int64_t>(sizeof(Row)));
    if (fit < ahead) ahead = fit < 2 ? 2 : fit;
  }
  // The address of the columns from `column` on of the row that is `ahead` ids after id number i.
  // An id that names no row gives an address that is not read: a prefetch of it is harmless.
  const Row* RowAhead(int64_t i, int64_t column) const {
    const int64_t next = i + ahead < last ? i + ahead : last;
    return rows +
           static_cast<int64_t>(static_cast<uint64_t>(ids[next]) * static_cast<uint64_t>(dim)) +
           column;
  }
  __attribute__((always_inline)) void PrefetchWholeRow(int64_t i) const {
    Prefetch<PrefetchFor::kToL2>(RowAhead(i, 0), dim * static_cast<long>(sizeof(Row)));
  }
  // Prefetches the first rows, which no earlier id has prefetched.
  __attribute__((always_inline)) void PrefetchFirst(int64_t begin) const {
    for (int64_t i = begin - ahead; i < begin && i + ahead <= last; ++i) PrefetchWholeRow(i);
  }
  // The row of id number i, or null if it names none.
  const Row* RowOf(int64_t i) const {
    const int64_t id = ids[i];
    return IsRow(id, num_rows) ? rows + id * dim : nullptr;
  }
};

// Bags [begin, end) of the offsets, and where the columns of the first are written.
struct BagRun {
  IndexArray offsets;
  int64_t begin, end;
  const float* weights;  // of the KJT, or null
  bool mean;
  float* out;
  int64_t out_stride;
  bool stream;
};

// The cache lines of kPacks packs and `tail` more columns.
template <int kPacks, typename Row>
inline __attribute__((always_inline)) void PrefetchColumns(const Row* p, int tail) {
  constexpr int kStep = 64 / (Pack::kSize * static_cast<int>(sizeof(Row)));
  TESSERA_UNROLL
  for (int k = 0; k < kPacks; k += kStep) __builtin_prefetch(p + k * Pack::kSize, 0, 2);
  __builtin_prefetch(p + kPacks * Pack::kSize + tail - 1, 0, 2);
}

// Columns [column, column + kPacks·Pack::kSize + tail) of a run of bags.
template <typename Row, bool kWeighted, int kPacks, bool kTail>
void SumColumns(const Reader<Row>& shared_reader, const BagRun& shared_bags, int64_t column,
                int tail) {
  const Reader<Row> reader = shared_reader;  // in registers
  const BagRun bags = shared_bags;
  constexpr int kSums = kPacks + (kTail ? 1 : 0);
  float* out = bags.out;
  int64_t i = bags.offsets[bags.begin];
  for (int64_t b = bags.begin; b < bags.end; ++b, out += bags.out_stride) {
    Pack sum[kSums];
    TESSERA_UNROLL
    for (int k = 0; k < kSums; ++k) sum[k] = Pack(0.0f);
    const int64_t begin = i, end = bags.offsets[b + 1];
    for (; i < end; ++i) {
      PrefetchColumns<kPacks>(reader.RowAhead(i, column), tail);
      const int64_t id = reader.ids[i];
      if (!IsRow(id, reader.num_rows)) continue;
      const Row* row = Opaque(reader.rows + id * reader.dim + column);
      const Pack weight = Pack(kWeighted ? bags.weights[i] : 1.0f);
      TESSERA_UNROLL
      for (int k = 0; k < kSums; ++k) {
        const Pack value = kTail && k == kPacks ? Pack::LoadFirst(row + k * Pack::kSize, tail)
                                                : Pack::Load(row + k * Pack::kSize);
        sum[k] = sum[k] + (kWeighted ? weight * value : value);
      }
    }
    if (bags.mean && end > begin) {
      const Pack divisor = Pack(static_cast<float>(end - begin));
      TESSERA_UNROLL
      for (int k = 0; k < kSums; ++k) sum[k] = sum[k] / divisor;
    }
    if (bags.stream) {
      TESSERA_UNROLL
      for (int k = 0; k < kPacks; ++k) sum[k].Stream(out + k * Pack::kSize);
    } else {
      TESSERA_UNROLL
      for (int k = 0; k < kPacks; ++k) sum[k].Store(out + k * Pack::kSize);
    }
    if constexpr (kTail) sum[kPacks].StoreFirst(out + kPacks * Pack::kSize, tail);
  }
}

template <typename Row>
using Columns = void (*)(const Reader<Row>&, const BagRun&, int64_t, int);

// The function for a block of `packs` whole packs, with or without a tail; at least one of both.
template <typename Row, bool kWeighted, int kPacks = kBlockPacks>
Columns<Row> ColumnsFor(int packs, bool tail) {
  if constexpr (kPacks == 0)
    return SumColumns<Row, kWeighted, 0, true>;
  else if (packs == kPacks)
    return tail ? SumColumns<Row, kWeighted, kPacks, true>
                : SumColumns<Row, kWeighted, kPacks, false>;
  else
    return ColumnsFor<Row, kWeighted, kPacks - 1>(packs, tail);
}

// Copies n elements, converted.
template <typename From, typename To>
void CopyElements(const From* from, int64_t n, To* to, bool stream = false) {
  int64_t d = 0;
  for (; d + Pack::kSize <= n; d += Pack::kSize) {
    if (stream)
      Pack::Load(from + d).Stream(to + d);
    else
      Pack::Load(from + d).Store(to + d);
  }
  const int tail = static_cast<int>(n - d);
  if (tail > 0) Pack::LoadFirst(from + d, tail).StoreFirst(to + d, tail);
}

// Cuts the columns of a row into blocks: whole ones, then the rest.
template <typename Row, bool kWeighted>
class ColumnBlocks {
 public:
  static constexpr int kBlock = kBlockPacks * Pack::kSize;

  explicit ColumnBlocks(int64_t dim)
      : full_columns_(dim / kBlock * kBlock),
        rest_(static_cast<int>(dim - full_columns_)),
        full_(ColumnsFor<Row, kWeighted>(kBlockPacks, false)),
        last_(ColumnsFor<Row, kWeighted>(rest_ / Pack::kSize, rest_ % Pack::kSize != 0)) {}
  // fn(function, first column, columns, columns of the tail) for each.
  template <typename Fn>
  void ForEach(const Fn& fn) const {
    for (int64_t column = 0; column < full_columns_; column += kBlock) fn(full_, column, kBlock, 0);
    if (rest_ > 0) fn(last_, full_columns_, rest_, rest_ % Pack::kSize);
  }

 private:
  int64_t full_columns_;
  int rest_;
  Columns<Row> full_, last_;
};

// The number of bags that are summed in one block of columns before the next block: so many that
// their rows have 16 KiB, and are still in a near cache. With one bag at a time, wide rows would be
// mostly calls.
template <typename Row>
int64_t BagsAtOnce(const LookupPiece& p) {
  constexpr int64_t kNearBytes = 16 << 10;
  const LookupFeature& f = *p.feature;
  const int64_t bags = p.end - p.begin;
  const int64_t ids = p.offsets[f.first_bag + p.end] - p.offsets[f.first_bag + p.begin];
  const int64_t near = kNearBytes / (f.dim * static_cast<int64_t>(sizeof(Row)));
  const int64_t some = near * bags / (ids > 0 ? ids : 1);
  return some < 1 ? 1 : some < bags ? some : bags;
}

template <typename Row, typename Out, bool kWeighted>
void PooledBags(const LookupPiece& p) {
  const LookupFeature& f = *p.feature;
  const Reader<Row> reader(p);
  const ColumnBlocks<Row, kWeighted> blocks(f.dim);
  constexpr int kBlock = ColumnBlocks<Row, kWeighted>::kBlock;
  constexpr bool kDirect = std::same_as<Out, float>;  // else a block of sums is converted
  const bool stream = p.stream && PacksAreAligned<Out>(f, Pack::kSize),
             mean = f.pooling == PoolingType::kMean;
  const int64_t at_once = !kDirect ? 1 : f.dim <= kBlock ? p.end - p.begin : BagsAtOnce<Row>(p);
  reader.PrefetchFirst(p.offsets[f.first_bag + p.begin]);
  for (int64_t b = p.begin; b < p.end; b += at_once) {
    const int64_t first = f.first_bag + b;
    const int64_t end = b + at_once < p.end ? b + at_once : p.end;
    BagRun bags{p.offsets, first,   f.first_bag + end, p.weights,
                mean,      nullptr, f.output_stride,   kDirect && stream};
    blocks.ForEach([&](Columns<Row> sum, int64_t column, int columns, int tail) {
      Out* out = f.OutputAt<Out>(b) + column;
      if constexpr (kDirect) {
        bags.out = out;
        sum(reader, bags, column, tail);
      } else {
        alignas(64) float sums[kBlock];
        bags.out = sums;
        sum(reader, bags, column, tail);
        CopyElements(sums, columns, out, stream);
      }
    });
  }
  if (stream) StoreFence();
}

template <typename Row, typename Out>
void CopyRows(const LookupPiece& p) {
  const LookupFeature& f = *p.feature;
  const Reader<Row> reader(p);
  const int64_t origin = p.offsets[f.first_bag];
  const int64_t begin = p.offsets[f.first_bag + p.begin], end = p.offsets[f.first_bag + p.end];
  for (int64_t i = begin; i < end; ++i) {
    reader.PrefetchWholeRow(i);
    Out* out = f.OutputAt<Out>(i - origin);
    if (const Row* row = reader.RowOf(i))
      CopyElements(row, f.dim, out);
    else
      __builtin_memset(out, 0, static_cast<size_t>(f.dim) * sizeof(Out));
  }
}

// n ≤ kLanes elements of a row as floats: the row itself, or a copy in `wide`.
inline const float* AsFloats(const float* row, int64_t, float*) { return row; }
template <typename Row>
const float* AsFloats(const Row* row, int64_t n, float* wide) {
  CopyElements(row, n, wide);
  return wide;
}

// Σ_d a_d·b_d in lane order, in double: products are exact, and the sum of a wide row of either
// sign keeps its digits.
template <typename Grad, typename Row>
float Dot(const Grad* grad, const Row* row, int64_t dim) {
  alignas(64) float wide_grad[kLanes], wide_row[kLanes];
  double lane[kLanes] = {};
  int64_t d = 0;
  for (; d + kLanes <= dim; d += kLanes) {
    const float *a = AsFloats(grad + d, kLanes, wide_grad),
                *b = AsFloats(row + d, kLanes, wide_row);
    for (int l = 0; l < kLanes; ++l)
      lane[l] += static_cast<double>(a[l]) * static_cast<double>(b[l]);
  }
  const float *a = AsFloats(grad + d, dim - d, wide_grad),
              *b = AsFloats(row + d, dim - d, wide_row);
  for (int l = 0; d + l < dim; ++l)
    lane[l] += static_cast<double>(a[l]) * static_cast<double>(b[l]);
  return static_cast<float>(FoldLanes(lane));
}

template <typename Row, typename Grad>
void WeightGradients(const LookupPiece& p) {
  const LookupFeature& f = *p.feature;
  const Reader<Row> reader(p);
  for (int64_t b = p.begin; b < p.end; ++b) {
    const int64_t begin = p.offsets[f.first_bag + b], end = p.offsets[f.first_bag + b + 1];
    const float scale = f.pooling == PoolingType::kMean ? MeanScale(end - begin) : 1.0f;
    for (int64_t i = begin; i < end; ++i) {
      reader.PrefetchWholeRow(i);
      const Row* row = reader.RowOf(i);
      p.grad_weights[i] = row ? scale * Dot(f.OutputAt<const Grad>(b), row, f.dim) : 0.0f;
    }
  }
}

}  // namespace

void LookupBags(const LookupPiece& p) {
  VisitRowType(p.feature->row_type, [&]<typename Row>() {
    VisitRowType(p.feature->output_type, [&]<typename Out>() {
      if (p.weights != nullptr)
        PooledBags<Row, Out, true>(p);
      else
        PooledBags<Row, Out, false>(p);
    });
  });
}

void LookupRows(const LookupPiece& p) {
  VisitRowType(p.feature->row_type, [&]<typename Row>() {
    VisitRowType(p.feature->output_type, [&]<typename Out>() { CopyRows<Row, Out>(p); });
  });
}

void LookupWeightGradients(const LookupPiece& p) {
  VisitRowType(p.feature->row_type, [&]<typename Row>() {
    VisitRowType(p.feature->output_type, [&]<typename Grad>() { WeightGradients<Row, Grad>(p); });
  });
}

}  // namespace tessera::internal::TESSERA_ISA
