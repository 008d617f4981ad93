#include "sparse/ops/segments.h"

#include <numeric>

#include "runtime/device/dispatch.h"
#include "runtime/numbers/lanes.h"
#include "sparse/ops/segments_impl.h"

namespace tessera {
namespace internal {
namespace {

void CheckOffsets(const char* what, const Tensor& offsets) {
  TESSERA_CHECK(offsets.rank() == 1 && offsets.dim(0) > 0, "{} {}: expected [n+1]", what,
                offsets.shape());
  VisitIndexType(offsets.dtype(), what, []<typename T>() {});
}

// Segments a thread sums at a time.
constexpr int64_t kSegments = 256;

template <typename T>
T SumInLanes(const T* values, int64_t n) {
  using Sum = typename SumOf<T>::Type;
  Sum lane[kLanes] = {};
  for (int64_t i = 0; i < n; ++i) lane[i % kLanes] += static_cast<Sum>(values[i]);
  return static_cast<T>(FoldLanes(lane));
}

void AddLength(int64_t length, int64_t segment, int64_t& sum) {
  TESSERA_CHECK(!__builtin_add_overflow(sum, length, &sum),
                "lengths up to that of segment {}: their sum is beyond 64 bits", segment);
}

Tensor AsInt64(Context& ctx, const Tensor& t) { return t.Contiguous(ctx).To(ctx, DType::kI64); }

}  // namespace

void CheckLengths(std::span<const int64_t> lengths, int64_t longest) {
  for (size_t i = 0; i < lengths.size(); ++i) {
    TESSERA_CHECK_GE(lengths[i], 0, "length of segment {}", i);
    TESSERA_CHECK_LE(lengths[i], longest, "length of segment {}", i);
  }
}

Segments SegmentsOfLengths(OnCpu, Context& ctx, const Tensor& lengths, int64_t longest) {
  const int64_t n = lengths.numel();
  Tensor offsets = Tensor::Empty(ctx, {n + 1}, DType::kI64);
  int64_t *out = offsets.data<int64_t>(), sum = 0;
  VisitIndexType(lengths.dtype(), "lengths", [&]<typename T>() {
    const T* data = lengths.data<T>();
    out[0] = 0;
    for (int64_t i = 0; i < n; out[++i] = sum) {
      if (data[i] < 0 || data[i] > longest) CheckLengths(ToInt64(lengths), longest);
      AddLength(data[i], i, sum);
    }
  });
  return {std::move(offsets), sum};
}

Segments SegmentsOverLengths(OnCpu on, Context& ctx, const Tensor& lengths, int64_t rows,
                             const char* what) {
  Segments segments = SegmentsOfLengths(on, ctx, lengths, rows);
  TESSERA_CHECK_EQ(segments.rows, rows, "{}: the sum of lengths, and rows", what);
  return segments;
}

Segments SegmentsOverOffsets(OnCpu, Context& ctx, const Tensor& offsets, int64_t rows,
                             const char* what, bool from_zero) {
  Tensor wide = AsInt64(ctx, offsets);
  const int64_t *at = wide.data<int64_t>(), n = wide.dim(0) - 1;
  if (from_zero)
    TESSERA_CHECK_EQ(at[0], 0, "{}: the first", what);
  else
    TESSERA_CHECK_GE(at[0], 0, "{}: the first", what);
  for (int64_t i = 0; i < n; ++i)
    TESSERA_CHECK_LE(at[i], at[i + 1], "{}: they fall at {}", what, i);
  if (from_zero)
    TESSERA_CHECK_EQ(at[n], rows, "{}: the last, and rows", what);
  else
    TESSERA_CHECK_LE(at[n], rows, "{}: the last, and rows", what);
  return {std::move(wide), rows};
}

Tensor OffsetsOfRows(OnCpu, Context& ctx, const Tensor& lengths, int64_t rows) {
  Tensor offsets = Tensor::Zeros(ctx, {rows + 1}, DType::kI64);
  const int64_t bags = rows == 0 ? 0 : lengths.numel() / rows;
  int64_t* out = offsets.data<int64_t>();
  VisitIndexType(lengths.dtype(), "lengths", [&]<typename T>() {
    const T* data = lengths.data<T>();
    for (int64_t r = 0; r < rows; ++r) {
      int64_t sum = out[r];
      for (int64_t i = r * bags; i < (r + 1) * bags; ++i) {
        TESSERA_CHECK_GE(data[i], 0, "length {}", i);
        AddLength(data[i], i, sum);
      }
      out[r + 1] = sum;
    }
  });
  return offsets;
}

void SumSegments(OnCpu, Context& ctx, const Segments& segments, int64_t batch, const Tensor& values,
                 const Tensor& y) {
  const int64_t* at = segments.offsets.data<int64_t>();
  VisitDType(values.dtype(), [&]<typename T>() {
    const T* from = values.data<T>();
    T* to = y.data<T>();
    ParallelFor(ctx, segments.count(), kSegments, [&](int64_t begin, int64_t end) {
      for (int64_t s = begin; s < end; ++s)
        to[s] = SumInLanes(from + at[s] * batch, (at[s + 1] - at[s]) * batch);
    });
  });
}

}  // namespace internal

Segments SegmentsOfLengths(Context& ctx, const Tensor& lengths, int64_t longest) {
  CheckDevice(ctx, "segments", lengths);
  const Tensor flat = lengths.Contiguous(ctx);
  return DispatchDevice(
      ctx.device(), [&](auto on) { return internal::SegmentsOfLengths(on, ctx, flat, longest); });
}

Segments SegmentsOverLengths(Context& ctx, const Tensor& lengths, int64_t rows, const char* what) {
  CheckDevice(ctx, what, lengths);
  const Tensor flat = lengths.Contiguous(ctx);
  return DispatchDevice(ctx.device(), [&](auto on) {
    return internal::SegmentsOverLengths(on, ctx, flat, rows, what);
  });
}

Segments SegmentsOverOffsets(Context& ctx, const Tensor& offsets, int64_t rows, const char* what) {
  CheckDevice(ctx, what, offsets);
  internal::CheckOffsets(what, offsets);
  return DispatchDevice(ctx.device(), [&](auto on) {
    return internal::SegmentsOverOffsets(on, ctx, offsets, rows, what, /*from_zero=*/true);
  });
}

Tensor SegmentSumCsr(Context& ctx, int64_t batch_size, const Tensor& csr_seg,
                     const Tensor& values) {
  CheckDevice(ctx, "SegmentSumCsr", csr_seg, values);
  internal::CheckOffsets("csr_seg", csr_seg);
  TESSERA_CHECK_EQ(values.rank(), 1, "values {}", values.shape());
  TESSERA_CHECK_GE(batch_size, 0, "batch_size");
  const int64_t most =
      batch_size == 0 ? std::numeric_limits<int64_t>::max() : values.dim(0) / batch_size;
  const Tensor in = values.Contiguous(ctx);
  Tensor y = Tensor::Empty(ctx, {csr_seg.dim(0) - 1}, in.dtype());
  DispatchDevice(ctx.device(), [&](auto on) {
    const Segments segments =
        internal::SegmentsOverOffsets(on, ctx, csr_seg, most, "csr_seg", /*from_zero=*/false);
    internal::SumSegments(on, ctx, segments, batch_size, in, y);
  });
  return y;
}

std::vector<int64_t> ToInt64(const Tensor& indices) {
  return VisitIndexType(indices.dtype(), "indices", [&]<typename T>() {
    const std::vector<T> values = indices.ToVector<T>();
    return std::vector<int64_t>(values.begin(), values.end());
  });
}

std::vector<int64_t> HostOffsets(std::span<const int64_t> lengths) {
  std::vector<int64_t> offsets(lengths.size() + 1);
  std::partial_sum(lengths.begin(), lengths.end(), offsets.begin() + 1);
  return offsets;
}

std::vector<int64_t> CheckedOffsets(const Tensor& offsets, const char* what) {
  internal::CheckOffsets(what, offsets);
  std::vector<int64_t> host = ToInt64(offsets);
  TESSERA_CHECK_EQ(host.front(), 0, "{}: the first", what);
  for (size_t i = 0; i + 1 < host.size(); ++i)
    TESSERA_CHECK_LE(host[i], host[i + 1], "{}: they fall at {}", what, i);
  return host;
}

}  // namespace tessera
