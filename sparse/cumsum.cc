#include "sparse/cumsum.h"

#include <numeric>
#include <type_traits>
#include <vector>

namespace tessera {
namespace {

// Elements a thread sums at a time; below that, two passes cost more than they save.
constexpr int64_t kBlock = 1 << 16;

// a + b, wrapping around instead of being undefined when a total does not fit the dtype.
template <typename T>
T Add(T a, T b) {
  using Unsigned = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
}

// out[0 … n) = sums of in, each with its own element (`inclusive`) or without; returns the total.
template <typename T>
void SumBlock(const T* in, T* out, int64_t n, T sum, bool inclusive) {
  for (int64_t i = 0; i < n; ++i) {
    const T next = Add(sum, in[i]);
    out[i] = inclusive ? next : sum;
    sum = next;
  }
}

// Total of each block first, then all blocks at once: exact for integers, however they are split.
template <typename T>
void Sum(Context& ctx, const T* in, T* out, int64_t n, bool inclusive) {
  if (n <= kBlock) return SumBlock(in, out, n, T{0}, inclusive);
  std::vector<T> starts(static_cast<size_t>((n + kBlock - 1) / kBlock));
  ParallelFor(ctx, n, kBlock, [&](int64_t begin, int64_t end) {
    starts[static_cast<size_t>(begin / kBlock)] =
        std::accumulate(in + begin, in + end, T{0}, Add<T>);
  });
  std::exclusive_scan(starts.begin(), starts.end(), starts.begin(), T{0}, Add<T>);
  ParallelFor(ctx, n, kBlock, [&](int64_t begin, int64_t end) {
    SumBlock(in + begin, out + begin, end - begin, starts[static_cast<size_t>(begin / kBlock)],
             inclusive);
  });
}

enum class Kind { kComplete, kInclusive, kExclusive };

Tensor Cumsum(Context& ctx, const Tensor& input, Kind kind) {
  TESSERA_CHECK(input.rank() == 1 || input.rank() == 2,
                "cumsum of a tensor {}: expected [n] or [m, n]", input.shape());
  const Tensor t = input.Contiguous(ctx);
  const int64_t extra = kind == Kind::kComplete, n = t.dim(-1), rows = t.rank() == 2 ? t.dim(0) : 1;
  Shape shape = t.shape();
  shape[t.rank() - 1] = n + extra;
  Tensor y = Tensor::Empty(ctx, shape, t.dtype());
  VisitIndexType(t.dtype(), "cumsum", [&]<typename T>() {
    for (int64_t r = 0; r < rows; ++r) {
      T* out = y.data<T>() + r * (n + extra);
      if (extra) out[0] = 0;
      Sum(ctx, t.data<T>() + r * n, out + extra, n, kind != Kind::kExclusive);
    }
  });
  return y;
}

// Segment i begins at begin(i), a non-decreasing sequence that ends at total.
template <typename T, typename Begin>
void FillRanges(Context& ctx, int64_t segments, T* out, Begin begin) {
  ParallelFor(ctx, segments, 1 << 13, [&](int64_t first, int64_t last) {
    for (int64_t s = first; s < last; ++s) std::iota(out + begin(s), out + begin(s + 1), T{0});
  });
}

}  // namespace

Tensor CompleteCumsum(Context& ctx, const Tensor& t) { return Cumsum(ctx, t, Kind::kComplete); }
Tensor InclusiveCumsum(Context& ctx, const Tensor& t) { return Cumsum(ctx, t, Kind::kInclusive); }
Tensor ExclusiveCumsum(Context& ctx, const Tensor& t) { return Cumsum(ctx, t, Kind::kExclusive); }

Tensor LengthsFromOffsets(Context& ctx, const Tensor& offsets) {
  TESSERA_CHECK(offsets.rank() == 1 && offsets.dim(0) > 0, "offsets {}: expected [n+1]",
                offsets.shape());
  const Tensor in = offsets.Contiguous(ctx);
  const int64_t n = in.dim(0) - 1;
  Tensor lengths = Tensor::Empty(ctx, {n}, in.dtype());
  VisitIndexType(in.dtype(), "offsets", [&]<typename T>() {
    const T* from = in.data<T>();
    T* to = lengths.data<T>();
    ParallelFor(ctx, n, kBlock, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = static_cast<T>(from[i + 1] - from[i]);
    });
  });
  return lengths;
}

Tensor LengthsRange(Context& ctx, const Tensor& lengths) {
  TESSERA_CHECK_EQ(lengths.rank(), 1, "lengths");
  const Tensor offsets = CompleteCumsum(ctx, lengths);
  return VisitIndexType(offsets.dtype(), "lengths", [&]<typename T>() {
    const T* begin = offsets.data<T>();
    for (int64_t i = 0; i < lengths.dim(0); ++i)
      TESSERA_CHECK_LE(begin[i], begin[i + 1], "length {} is negative", i);
    Tensor y = Tensor::Empty(ctx, {static_cast<int64_t>(begin[lengths.dim(0)])}, offsets.dtype());
    FillRanges(ctx, lengths.dim(0), y.data<T>(), [begin](int64_t s) { return begin[s]; });
    return y;
  });
}

Tensor OffsetsRange(Context& ctx, const Tensor& offsets, int64_t range_size) {
  TESSERA_CHECK_EQ(offsets.rank(), 1, "offsets");
  const Tensor in = offsets.Contiguous(ctx);
  const int64_t n = in.dim(0);
  Tensor y = Tensor::Empty(ctx, {range_size}, in.dtype());
  VisitIndexType(in.dtype(), "offsets", [&]<typename T>() {
    const T* p = in.data<T>();
    const auto begin = [p, n, range_size](int64_t s) {
      return s < n ? static_cast<int64_t>(p[s]) : range_size;
    };
    TESSERA_CHECK(range_size == 0 || (n > 0 && p[0] == 0),
                  "offsets of a range of {}: the first must be 0", range_size);
    for (int64_t i = 0; i < n; ++i)
      TESSERA_CHECK(p[i] >= 0 && begin(i) <= begin(i + 1), "offset {} is {}, the next {}", i, p[i],
                    begin(i + 1));
    FillRanges(ctx, n, y.data<T>(), begin);
  });
  return y;
}

}  // namespace tessera
