#include "sparse/segments.h"

#include "sparse/row_runs.h"

namespace tessera {
namespace {

// Segments a thread sums at a time.
constexpr int64_t kSegments = 256;

template <typename T>
struct Accumulator {
  using Type = T;
};
template <>
struct Accumulator<Half> {
  using Type = float;
};
template <>
struct Accumulator<BFloat16> {
  using Type = float;
};
template <>
struct Accumulator<bool> {
  using Type = int64_t;
};

template <typename T>
T SumOf(const T* values, int64_t begin, int64_t end) {
  using Sum = typename Accumulator<T>::Type;
  Sum sum{};
  for (int64_t i = begin; i < end; ++i) sum = static_cast<Sum>(sum + static_cast<Sum>(values[i]));
  return T(sum);
}

}  // namespace

std::vector<int64_t> OffsetsOfLengths(const Tensor& lengths) {
  TESSERA_CHECK(lengths.is_contiguous(), "lengths {} are not contiguous", lengths.shape());
  std::vector<int64_t> offsets(static_cast<size_t>(lengths.numel()) + 1);
  VisitIndexType(lengths.dtype(), "lengths", [&]<typename T>() {
    const T* data = lengths.data<T>();
    int64_t sum = 0;
    for (size_t i = 0; i + 1 < offsets.size(); offsets[++i] = sum) {
      TESSERA_CHECK_GE(data[i], 0, "length of segment {}", i);
      sum += data[i];
    }
  });
  return offsets;
}

std::vector<int64_t> SumsOfLengths(const Tensor& lengths, std::span<const int64_t> group_offsets) {
  TESSERA_CHECK(lengths.is_contiguous(), "lengths {} are not contiguous", lengths.shape());
  std::vector<int64_t> sums(group_offsets.size() - 1);
  VisitIndexType(lengths.dtype(), "lengths", [&]<typename T>() {
    const T* data = lengths.data<T>();
    for (size_t g = 0; g < sums.size(); ++g)
      for (int64_t i = group_offsets[g]; i < group_offsets[g + 1]; ++i) {
        TESSERA_CHECK_GE(data[i], 0, "length {}", i);
        sums[g] += data[i];
      }
  });
  return sums;
}

std::vector<int64_t> CheckedOffsets(const Tensor& offsets, const char* what) {
  TESSERA_CHECK(offsets.rank() == 1 && offsets.dim(0) > 0, "{} {}: expected [n+1]", what,
                offsets.shape());
  std::vector<int64_t> host = ToInt64(offsets);
  TESSERA_CHECK_EQ(host.front(), 0, "{}: the first", what);
  for (size_t i = 0; i + 1 < host.size(); ++i)
    TESSERA_CHECK_LE(host[i], host[i + 1], "{}: they fall at {}", what, i);
  return host;
}

Tensor SegmentSumCsr(Context& ctx, int64_t batch_size, const Tensor& csr_seg,
                     const Tensor& values) {
  TESSERA_CHECK(csr_seg.rank() == 1 && csr_seg.dim(0) > 0, "csr_seg {}: expected [n+1]",
                csr_seg.shape());
  TESSERA_CHECK_EQ(values.rank(), 1, "values {}", values.shape());
  TESSERA_CHECK_GE(batch_size, 0, "batch_size");
  const std::vector<int64_t> at = ToInt64(csr_seg);
  TESSERA_CHECK_GE(at.front(), 0, "csr_seg: the first");
  for (size_t i = 0; i + 1 < at.size(); ++i)
    TESSERA_CHECK_LE(at[i], at[i + 1], "csr_seg: it falls at {}", i);
  TESSERA_CHECK(batch_size == 0 || at.back() <= values.dim(0) / batch_size,
                "csr_seg: segments end at {} batches of {}, and there are {} values", at.back(),
                batch_size, values.dim(0));
  const Tensor in = values.Contiguous(ctx);
  Tensor y = Tensor::Empty(ctx, {csr_seg.dim(0) - 1}, in.dtype());
  VisitDType(in.dtype(), [&]<typename T>() {
    const T* from = in.data<T>();
    T* to = y.data<T>();
    ParallelFor(ctx, y.dim(0), kSegments, [&](int64_t begin, int64_t end) {
      for (auto s = static_cast<size_t>(begin); s < static_cast<size_t>(end); ++s)
        to[s] = SumOf(from, at[s] * batch_size, at[s + 1] * batch_size);
    });
  });
  return y;
}

}  // namespace tessera
