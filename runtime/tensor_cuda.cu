// Copies, fills and conversions of tensors in a GPU's memory.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "runtime/launch.cuh"
#include "runtime/tensor.h"
#include "runtime/tensor_impl.h"

namespace tessera::internal {
namespace {

// Extents of a loop over tensors of one shape, and the strides of each tensor. Dimensions that lie
// one after the other in all tensors are one, and those of one element are none.
template <int kTensors>
struct Loops {
  int rank = 0;
  int64_t shape[Shape::kMaxRank], strides[kTensors][Shape::kMaxRank];

  explicit Loops(const std::array<const Tensor*, kTensors>& tensors) {
    for (int d = 0; d < tensors[0]->rank(); ++d) {
      const int64_t extent = tensors[0]->shape()[d];
      if (extent == 1) continue;
      bool follows = rank > 0;
      for (int t = 0; t < kTensors && follows; ++t)
        follows = strides[t][rank - 1] == extent * tensors[t]->strides()[d];
      if (!follows) shape[rank++] = 1;
      shape[rank - 1] *= extent;
      for (int t = 0; t < kTensors; ++t) strides[t][rank - 1] = tensors[t]->strides()[d];
    }
  }
  // Whether all places are below 2^31.
  bool narrow() const {
    int64_t most = 1, count = 1;
    for (int d = 0; d < rank; ++d) count *= shape[d];
    for (int t = 0; t < kTensors; ++t) {
      int64_t last = 0;
      for (int d = 0; d < rank; ++d) last += (shape[d] - 1) * std::abs(strides[t][d]);
      most = std::max({most, last, count});
    }
    return most < int64_t{1} << 31;
  }
};

// Where element i lies, counted row-major, in each of the tensors. Index: int32_t where all places
// are below 2^31, as divisions of 64-bit numbers take a GPU five times as long.
template <typename Index, int kTensors>
struct Walk {
  int rank;
  Index shape[Shape::kMaxRank], strides[kTensors][Shape::kMaxRank];

  explicit Walk(const Loops<kTensors>& loops) : rank(loops.rank) {
    for (int d = 0; d < rank; ++d) {
      shape[d] = static_cast<Index>(loops.shape[d]);
      for (int t = 0; t < kTensors; ++t) strides[t][d] = static_cast<Index>(loops.strides[t][d]);
    }
  }
  TESSERA_HD void operator()(int64_t element, Index (&at)[kTensors]) const {
    auto i = static_cast<Index>(element);
    for (int t = 0; t < kTensors; ++t) at[t] = 0;
    for (int d = rank - 1; d > 0; --d) {
      const Index rest = i / shape[d], place = i - rest * shape[d];
      for (int t = 0; t < kTensors; ++t) at[t] += place * strides[t][d];
      i = rest;
    }
    if (rank > 0)
      for (int t = 0; t < kTensors; ++t) at[t] += i * strides[t][0];
  }
};

template <typename T, typename Index>
struct CopyElements {
  T* to;
  const T* from;
  Walk<Index, 2> walk;
  TESSERA_HD void operator()(int64_t i) const {
    Index at[2];
    walk(i, at);
    to[at[0]] = from[at[1]];
  }
};

template <typename T, typename Index>
struct FillElements {
  T* to;
  T value;
  Walk<Index, 1> walk;
  TESSERA_HD void operator()(int64_t i) const {
    Index at[1];
    walk(i, at);
    to[at[0]] = value;
  }
};

// use(Walk) with the index type that the loops allow.
template <int kTensors, typename Use>
void WithWalk(const Loops<kTensors>& loops, const Use& use) {
  if (loops.narrow())
    use(Walk<int32_t, kTensors>(loops));
  else
    use(Walk<int64_t, kTensors>(loops));
}

template <typename T>
void CopyStridedAs(Context& ctx, const Tensor& to, const Tensor& from) {
  WithWalk(Loops<2>({&to, &from}), [&]<typename Index>(const Walk<Index, 2>& walk) {
    ForEach(ctx, to.numel(),
            CopyElements<T, Index>{static_cast<T*>(to.raw_data()),
                                   static_cast<const T*>(from.raw_data()), walk});
  });
}

}  // namespace

void CopyBytes(OnCuda, const Stream& stream, void* to, const void* from, int64_t bytes) {
  if (bytes == 0) return;
  UseDevice(stream.device());
  TESSERA_CUDA_CHECK(
      cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDefault, CudaStream(stream)));
}

void ZeroBytes(OnCuda, const Stream& stream, void* to, int64_t bytes) {
  if (bytes == 0) return;
  UseDevice(stream.device());
  TESSERA_CUDA_CHECK(cudaMemsetAsync(to, 0, static_cast<size_t>(bytes), CudaStream(stream)));
}

void CopyStrided(OnCuda, Context& ctx, const Tensor& to, const Tensor& from) {
  switch (SizeOf(to.dtype())) {
    case 1:
      return CopyStridedAs<uint8_t>(ctx, to, from);
    case 2:
      return CopyStridedAs<uint16_t>(ctx, to, from);
    case 4:
      return CopyStridedAs<uint32_t>(ctx, to, from);
    default:
      return CopyStridedAs<uint64_t>(ctx, to, from);
  }
}

void Fill(OnCuda, Context& ctx, const Tensor& tensor, double value) {
  VisitDType(tensor.dtype(), [&]<typename T>() {
    WithWalk(Loops<1>({&tensor}), [&]<typename Index>(const Walk<Index, 1>& walk) {
      ForEach(ctx, tensor.numel(),
              FillElements<T, Index>{tensor.data<T>(), ConvertElement<T>(value), walk});
    });
  });
}

void Convert(OnCuda, Context& ctx, const Tensor& from, const Tensor& to) {
  VisitDType(from.dtype(), [&]<typename From>() {
    VisitDType(to.dtype(), [&]<typename To>() {
      ForEach(ctx, from.numel(), ConvertElements<To, From>{from.data<From>(), to.data<To>()});
    });
  });
}

void FillUniform(OnCuda, Context& ctx, const UniformBlock& fill) {
  ForEach(ctx, fill.blocks(), fill);
}

}  // namespace tessera::internal
