#include "runtime/fill_uniform.h"

#include <cmath>

#include "runtime/device/dispatch.h"
#include "runtime/for_each.h"
#include "runtime/recorded_step.h"
#include "runtime/tensor_impl.h"

namespace tessera {
namespace {

// Blocks of a piece of work.
constexpr int64_t kBlockGrain = 1 << 14;

}  // namespace

void FillUniformFrom(Context& ctx, const Tensor& tensor, float low, float high, uint64_t sequence,
                     int64_t first) {
  TESSERA_CHECK(tensor.defined() && tensor.is_contiguous(), "FillUniform of a tensor {} that is {}",
                tensor.shape(), tensor.defined() ? "not contiguous" : "undefined");
  TESSERA_CHECK(std::isfinite(low) && std::isfinite(high) && low <= high,
                "FillUniform from {} to {}: expected finite numbers that do not fall", low, high);
  CheckDevice(ctx, "FillUniform", tensor);
  const internal::UniformBlock fill{tensor.data<float>(), first,   tensor.numel(), low, high,
                                    ctx.random().seed(),  sequence};
  DispatchDevice(ctx.device(), [&](auto on) {
    if constexpr (std::is_same_v<decltype(on), OnCuda>)
      internal::FillUniform(on, ctx, fill);
    else
      internal::ForEach(on, ctx, fill.blocks(), kBlockGrain, fill);
  });
}

void FillUniform(Context& ctx, const Tensor& tensor, float low, float high) {
  CheckIsNotRecording(ctx, "FillUniform", "each launch would draw the same numbers");
  FillUniformFrom(ctx, tensor, low, high, ctx.random().TakeSequence(), 0);
}

}  // namespace tessera
