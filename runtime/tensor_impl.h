#ifndef TESSERA_RUNTIME_TENSOR_IMPL_H_
#define TESSERA_RUNTIME_TENSOR_IMPL_H_
// The operations that tensors need from a device, and the element-wise formulas that all devices
// share.
#include "runtime/base/host_device.h"
#include "runtime/numbers/random.h"
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
struct UniformBlock;
void FillUniform(OnCuda, Context& ctx, const UniformBlock& fill);

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

// Four numbers of FillUniform from one counter; data[0] is number `first` of the sequence.
struct UniformBlock {
  float* data;
  int64_t first, n;
  float low, high;
  uint64_t seed, sequence;
  int64_t blocks() const { return (first % 4 + n + 3) / 4; }
  TESSERA_HD void operator()(int64_t block) const {
    const int64_t counter = first / 4 + block;
    const PhiloxBits bits = Philox(seed, sequence, static_cast<uint64_t>(counter));
    for (int64_t k = 0; k < 4; ++k)
      if (const int64_t i = counter * 4 + k - first; i >= 0 && i < n)
        data[i] = low + (high - low) * UniformFloat(bits.v[k]);
  }
};

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_TENSOR_IMPL_H_
