#ifndef TESSERA_RUNTIME_TENSOR_IMPL_H_
#define TESSERA_RUNTIME_TENSOR_IMPL_H_
// Private to runtime: what tensors ask of a device, and the element-wise formulas that all of them
// share.
#include "runtime/host_device.h"
#include "runtime/random.h"
#include "runtime/tensor.h"

namespace tessera::internal {

// Copies in the order of the stream, between any two memories. Host memory that is not pinned is
// read, or written, before the call returns.
void CopyBytes(OnCuda, const Stream& stream, void* to, const void* from, int64_t bytes);
void ZeroBytes(OnCuda, const Stream& stream, void* to, int64_t bytes);
// to and from: same shape and dtype, on the device of ctx, any strides.
void CopyStrided(OnCuda, Context& ctx, const Tensor& to, const Tensor& from);
void Fill(OnCuda, Context& ctx, const Tensor& tensor, double value);
// Both contiguous, of one shape.
void Convert(OnCuda, Context& ctx, const Tensor& from, const Tensor& to);
void FillUniform(OnCuda, Context& ctx, const Tensor& tensor, float low, float high, uint64_t seed,
                 uint64_t sequence);

template <typename To, typename From>
TESSERA_HD To ConvertElement(From value) {
  constexpr bool kWide = std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>;
  constexpr bool kNarrow = std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>;
  if constexpr (kWide && kNarrow)
    return To(static_cast<float>(value));
  else if constexpr (kWide)
    return static_cast<To>(static_cast<float>(value));
  else if constexpr (kNarrow)
    return To(static_cast<float>(value));
  else
    return static_cast<To>(value);
}

template <typename To, typename From>
struct ConvertElements {
  const From* in;
  To* out;
  TESSERA_HD void operator()(int64_t i) const { out[i] = ConvertElement<To>(in[i]); }
};

// Four numbers of FillUniform from one counter.
struct UniformBlock {
  float* data;
  int64_t n;
  float low, high;
  uint64_t seed, sequence;
  TESSERA_HD void operator()(int64_t block) const {
    const PhiloxBits bits = Philox(seed, sequence, static_cast<uint64_t>(block));
    for (int64_t i = block * 4; i < n && i < block * 4 + 4; ++i)
      data[i] = low + (high - low) * UniformFloat(bits.v[i % 4]);
  }
};

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_TENSOR_IMPL_H_
