#ifndef TESSERA_MODELS_LAYERS_OVER_ARCH_H_
#define TESSERA_MODELS_LAYERS_OVER_ARCH_H_
// The upper half of a DLRM: an MLP with ReLU for all sizes but the last, then a linear layer.
// Parameters "model.0._mlp.<i>._linear.…" and "model.1.weight", "model.1.bias".
#include <string>
#include <vector>

#include "models/layers/mlp.h"
#include "runtime/context.h"

namespace tessera {

class OverArch final : public Module {
 public:
  // REQUIRES: at least two sizes, all above 0.
  OverArch(Context& ctx, int64_t in, const std::vector<int64_t>& sizes);

  Variable Forward(Context& ctx, const Variable& x) const;  // [B, in] -> [B, sizes.back()]
  void AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const override;

 private:
  Mlp mlp_;
  LinearLayer last_;
};

}  // namespace tessera
#endif  // TESSERA_MODELS_LAYERS_OVER_ARCH_H_
