#include "runtime/algorithms.h"
#include "runtime/launch.cuh"
#include "runtime/tensor.h"
#include "sparse/ops/cumsum_impl.h"
#include "sparse/ops/search.h"

namespace tessera::internal {
namespace {

// Makes a row's sums from sums over all rows at once: the sum before the row is taken off. This is
// exact, as integers wrap around. `columns`: those of y, which has one more than the sums
// (`complete`) or as many.
template <typename T>
struct SumsOfRows {
  const T *in, *sums;
  T* y;
  int64_t columns;
  CumsumKind kind;
  TESSERA_HD void operator()(int64_t i) const {
    const int64_t extra = kind == CumsumKind::kComplete;
    const int64_t row = i / columns, column = i % columns, begin = row * (columns - extra);
    const int64_t at = begin + column - extra;  // the sums' element
    const auto sum = [this](int64_t place) {
      return static_cast<uint64_t>(place < 0 ? T{0} : sums[place]);
    };
    uint64_t value = column < extra ? sum(begin - 1) : sum(at);
    if (kind == CumsumKind::kExclusive) value -= static_cast<uint64_t>(in[at]);
    y[i] = static_cast<T>(value - sum(begin - 1));
  }
};

template <typename T>
struct FillRange {
  const int64_t *offsets, *first;
  int64_t segments;
  T* y;
  TESSERA_HD void operator()(int64_t i) const {
    const int64_t s = SegmentOf(offsets, 0, segments - 1, i);
    y[i] = static_cast<T>((first != nullptr ? first[s] : 0) + i - offsets[s]);
  }
};

}  // namespace

void Cumsum(OnCuda, Context& ctx, const Tensor& t, CumsumKind kind, const Tensor& y) {
  VisitIndexType(t.dtype(), "cumsum", [&]<typename T>() {
    const T* in = t.data<T>();
    const int64_t n = t.numel();
    if (t.dim(0) == 1) {
      const int64_t extra = kind == CumsumKind::kComplete;
      if (extra) y.Reshape({n + 1}).Rows(0, 1).Fill(ctx, 0);
      if (kind == CumsumKind::kExclusive)
        ExclusiveSum(ctx, in, y.data<T>(), n);
      else
        InclusiveSum(ctx, in, y.data<T>() + extra, n);
      return;
    }
    const Tensor sums = Tensor::Empty(ctx, t.shape(), t.dtype());
    InclusiveSum(ctx, in, sums.data<T>(), n);
    ForEach(ctx, y.numel(), SumsOfRows<T>{in, sums.data<T>(), y.data<T>(), y.dim(-1), kind});
  });
}

void LengthsFromOffsets(OnCuda, Context& ctx, const Tensor& offsets, const Tensor& lengths) {
  VisitIndexType(offsets.dtype(), "offsets", [&]<typename T>() {
    ForEach(ctx, lengths.dim(0), Difference<T>{offsets.data<T>(), lengths.data<T>()});
  });
}

void FillRanges(OnCuda, Context& ctx, const Segments& segments, const Tensor& first,
                const Tensor& y) {
  VisitIndexType(y.dtype(), "ranges", [&]<typename T>() {
    ForEach(ctx, segments.count() > 0 ? y.dim(0) : 0,
            FillRange<T>{segments.offsets.data<int64_t>(),
                         first.defined() ? first.data<int64_t>() : nullptr, segments.count(),
                         y.data<T>()});
  });
}

}  // namespace tessera::internal
