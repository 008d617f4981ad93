// Copies, fills and conversions of tensors in a GPU's memory.
#include "runtime/launch.cuh"
#include "runtime/tensor.h"
#include "runtime/tensor_impl.h"

namespace tessera::internal {
namespace {

// Where element i of a tensor lies, counted row-major.
struct Walk {
  int rank;
  int64_t shape[Shape::kMaxRank], strides[Shape::kMaxRank];
  explicit Walk(const Tensor& t) : rank(t.rank()) {
    for (int d = 0; d < rank; ++d) {
      shape[d] = t.shape()[d];
      strides[d] = t.strides()[d];
    }
  }
  TESSERA_HD int64_t operator()(int64_t i) const {
    int64_t offset = 0;
    for (int d = rank - 1; d >= 0; --d) {
      offset += i % shape[d] * strides[d];
      i /= shape[d];
    }
    return offset;
  }
};

template <typename T>
struct CopyElements {
  T* to;
  const T* from;
  Walk to_walk, from_walk;
  TESSERA_HD void operator()(int64_t i) const { to[to_walk(i)] = from[from_walk(i)]; }
};

template <typename T>
struct FillElements {
  T* to;
  Walk walk;
  T value;
  TESSERA_HD void operator()(int64_t i) const { to[walk(i)] = value; }
};

template <typename T>
void CopyStridedAs(Context& ctx, const Tensor& to, const Tensor& from) {
  ForEach(ctx, to.numel(),
          CopyElements<T>{static_cast<T*>(to.raw_data()), static_cast<const T*>(from.raw_data()),
                          Walk(to), Walk(from)});
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
    ForEach(ctx, tensor.numel(),
            FillElements<T>{tensor.data<T>(), Walk(tensor), ConvertElement<T>(value)});
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
