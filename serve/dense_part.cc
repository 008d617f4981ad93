#include "serve/dense_part.h"

#include "train/nn/interaction.h"

namespace tessera::serve {
namespace {

int64_t OverArchInput(const ModelSpec& spec) {
  const auto features = static_cast<int64_t>(spec.Features().size());
  return spec.dense_arch.back() + features * (features + 1) / 2;
}

}  // namespace

DensePart::DensePart(Context& ctx, const ModelSpec& spec)
    : dense_arch_(ctx, spec.dense_in, spec.dense_arch),
      over_arch_(ctx, OverArchInput(spec), spec.over_arch) {}

Variable DensePart::Forward(Context& ctx, const Variable& dense, const Variable& pooled) const {
  return over_arch_.Forward(ctx, DotInteraction(ctx, dense_arch_.Forward(ctx, dense), pooled));
}

void DensePart::AppendParameters(const std::string& prefix,
                                 std::vector<NamedParameter>& out) const {
  dense_arch_.AppendParameters(prefix + "dense_arch.model.", out);
  over_arch_.AppendParameters(prefix + "over_arch.", out);
}

}  // namespace tessera::serve
