#include "sparse/ops/cumsum.h"

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <vector>

#include "runtime/device/dispatch.h"
#include "runtime/for_each.h"
#include "sparse/ops/cumsum_impl.h"
#include "sparse/ops/sum_lengths.h"

namespace tessera {
namespace internal {
namespace {

// A thread sums so many elements at a time; for fewer, two passes cost more than they save.
constexpr int64_t kBlock = 1 << 14;

// a + b, wrapping around instead of being undefined when a total does not fit the dtype.
template <typename T>
T Add(T a, T b) {
  using Unsigned = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
}

// Sets out[0 … n) to sum + sums of in, each with its own element (kInclusive) or without.
template <bool kInclusive, typename T>
void SumBlock(const T* in, T* out, int64_t n, T sum) {
  for (int64_t i = 0; i < n; ++i) {
    const T next = Add(sum, in[i]);
    out[i] = kInclusive ? next : sum;
    sum = next;
  }
}

// Sums each block first, then all blocks at once: exact for integers, wherever they are cut.
template <bool kInclusive, typename T>
void Sum(Context& ctx, const T* in, T* out, int64_t n) {
  if (n <= kBlock || ctx.threads().threads() == 1) return SumBlock<kInclusive>(in, out, n, T{0});
  std::vector<T> starts(static_cast<size_t>((n + kBlock - 1) / kBlock));
  ParallelFor(ctx, n, kBlock, [&](int64_t begin, int64_t end) {
    starts[static_cast<size_t>(begin / kBlock)] =
        std::accumulate(in + begin, in + end, T{0}, Add<T>);
  });
  std::exclusive_scan(starts.begin(), starts.end(), starts.begin(), T{0}, Add<T>);
  ParallelFor(ctx, n, kBlock, [&](int64_t begin, int64_t end) {
    SumBlock<kInclusive>(in + begin, out + begin, end - begin,
                         starts[static_cast<size_t>(begin / kBlock)]);
  });
}

}  // namespace

void Cumsum(OnCpu, Context& ctx, const Tensor& t, CumsumKind kind, const Tensor& y) {
  const int64_t extra = kind == CumsumKind::kComplete, n = t.dim(1);
  VisitIndexType(t.dtype(), "cumsum", [&]<typename T>() {
    for (int64_t r = 0; r < t.dim(0); ++r) {
      T* out = y.data<T>() + r * (n + extra);
      if (extra) out[0] = 0;
      const T* in = t.data<T>() + r * n;
      if (kind == CumsumKind::kExclusive)
        Sum<false>(ctx, in, out, n);
      else
        Sum<true>(ctx, in, out + extra, n);
    }
  });
}

void LengthsFromOffsets(OnCpu on, Context& ctx, const Tensor& offsets, const Tensor& lengths) {
  VisitIndexType(offsets.dtype(), "offsets", [&]<typename T>() {
    const T* at = offsets.data<T>();
    T *out = lengths.data<T>(), signs = 0;
    const int64_t n = lengths.dim(0);
    ForEach(on, ctx, n, kBlock, Difference<T>{at, out});
    SumLengths(out, 0, n, &signs);
    if (signs >= 0) return;
    const int64_t falls = std::find_if(out, out + n, [](T x) { return x < 0; }) - out;
    TESSERA_FAIL("LengthsFromOffsets: offsets fall from {} to {} at {}", at[falls], at[falls + 1],
                 falls);
  });
}

void FillRanges(OnCpu, Context& ctx, const Segments& segments, const Tensor& first,
                const Tensor& y) {
  const int64_t *at = segments.offsets.data<int64_t>(),
                *starts = first.defined() ? first.data<int64_t>() : nullptr;
  VisitIndexType(y.dtype(), "ranges", [&]<typename T>() {
    T* out = y.data<T>();
    ParallelFor(ctx, segments.count(), 1 << 13, [&](int64_t begin, int64_t end) {
      for (int64_t s = begin; s < end; ++s)
        std::iota(out + at[s], out + at[s + 1], static_cast<T>(starts ? starts[s] : 0));
    });
  });
}

}  // namespace internal

namespace {

using internal::CumsumKind;

Tensor Cumsum(Context& ctx, const Tensor& input, CumsumKind kind) {
  CheckDevice(ctx, "cumsum", input);
  TESSERA_CHECK(input.rank() == 1 || input.rank() == 2,
                "cumsum of a tensor {}: expected [n] or [m, n]", input.shape());
  VisitIndexType(input.dtype(), "cumsum", []<typename T>() {});
  const Tensor t = input.Contiguous(ctx);
  Shape shape = t.shape();
  if (kind == CumsumKind::kComplete) ++shape[t.rank() - 1];
  Tensor y = Tensor::Empty(ctx, shape, t.dtype());
  const int64_t rows = t.rank() == 2 ? t.dim(0) : 1;
  DispatchDevice(ctx.device(), [&](auto on) {
    internal::Cumsum(on, ctx, t.Reshape({rows, t.dim(-1)}), kind, y);
  });
  return y;
}

Tensor Ranges(Context& ctx, const Segments& segments, DType dtype) {
  Tensor y = Tensor::Empty(ctx, {segments.rows}, dtype);
  DispatchDevice(ctx.device(), [&](auto on) { internal::FillRanges(on, ctx, segments, {}, y); });
  return y;
}

}  // namespace

Tensor CompleteCumsum(Context& ctx, const Tensor& t) {
  return Cumsum(ctx, t, CumsumKind::kComplete);
}
Tensor InclusiveCumsum(Context& ctx, const Tensor& t) {
  return Cumsum(ctx, t, CumsumKind::kInclusive);
}
Tensor ExclusiveCumsum(Context& ctx, const Tensor& t) {
  return Cumsum(ctx, t, CumsumKind::kExclusive);
}

Tensor LengthsFromOffsets(Context& ctx, const Tensor& offsets) {
  CheckDevice(ctx, "LengthsFromOffsets", offsets);
  TESSERA_CHECK(offsets.rank() == 1 && offsets.dim(0) > 0, "offsets {}: expected [n+1]",
                offsets.shape());
  const Tensor in = offsets.Contiguous(ctx);
  Tensor lengths = Tensor::Empty(ctx, {in.dim(0) - 1}, in.dtype());
  DispatchDevice(ctx.device(),
                 [&](auto on) { internal::LengthsFromOffsets(on, ctx, in, lengths); });
  return lengths;
}

Tensor LengthsRange(Context& ctx, const Tensor& lengths) {
  CheckDevice(ctx, "LengthsRange", lengths);
  TESSERA_CHECK_EQ(lengths.rank(), 1, "lengths");
  return Ranges(ctx, SegmentsOfLengths(ctx, lengths), lengths.dtype());
}

Tensor OffsetsRange(Context& ctx, const Tensor& offsets, int64_t range_size) {
  CheckDevice(ctx, "OffsetsRange", offsets);
  TESSERA_CHECK_EQ(offsets.rank(), 1, "offsets");
  TESSERA_CHECK_GE(range_size, 0, "OffsetsRange: range_size");
  const int64_t n = offsets.dim(0);
  if (n == 0) TESSERA_CHECK_EQ(range_size, 0, "OffsetsRange: range_size without an offset");
  const Tensor complete = Tensor::Empty(ctx, {n + 1}, offsets.dtype());
  complete.Rows(0, n).CopyFrom(ctx, offsets);
  complete.Rows(n, n + 1).Fill(ctx, static_cast<double>(range_size));
  return Ranges(ctx, SegmentsOverOffsets(ctx, complete, range_size, "offsets of a range"),
                offsets.dtype());
}

}  // namespace tessera
