#ifndef TESSERA_SERVE_DENSE_PART_H_
#define TESSERA_SERVE_DENSE_PART_H_
// Of a DLRM (train/nn/dlrm.h), all but the tables, with the names of its state dict.
#include "serve/model_spec.h"
#include "train/nn/over_arch.h"

namespace tessera::serve {

class DensePart final : public Module {
 public:
  DensePart(Context& ctx, const ModelSpec& spec);

  // dense [B, dense_in], pooled [B, F·D] -> logits [B, 1].
  Variable Forward(Context& ctx, const Variable& dense, const Variable& pooled) const;
  void AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const override;

 private:
  Mlp dense_arch_;
  OverArch over_arch_;
};

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_DENSE_PART_H_
