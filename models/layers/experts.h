#ifndef TESSERA_MODELS_LAYERS_EXPERTS_H_
#define TESSERA_MODELS_LAYERS_EXPERTS_H_
// Mixtures of experts: MLPs beside each other, of whose outputs a gate takes a mean for each
// example.
#include <string>
#include <vector>

#include "models/layers/mlp.h"
#include "runtime/context.h"

namespace tessera {

// MLPs of one input, with ReLU on every layer. Parameters "<e>.model._mlp.<i>._linear.…".
class Experts final : public Module {
 public:
  // REQUIRES: sizes above 0, at least one.
  Experts(Context& ctx, int64_t count, int64_t in, const std::vector<int64_t>& sizes);

  // Appends each expert's [B, last size] for x [B, in].
  void Forward(Context& ctx, const Variable& x, std::vector<Variable>& outputs) const;
  void AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const override;

 private:
  std::vector<Mlp> experts_;
};

// y = Σ_e p_e·experts_e with p = softmax(x·Wᵀ + b). Parameters "weight" [experts, in], "bias".
class Gate final : public Module {
 public:
  Gate(Context& ctx, int64_t in, int64_t experts) : linear_(ctx, in, experts) {}

  // x [B, in]; experts: as many as the gate has, [B, K] each -> [B, K].
  Variable Forward(Context& ctx, const Variable& x, const std::vector<Variable>& experts) const;
  void AppendParameters(const std::string& prefix,
                        std::vector<NamedParameter>& out) const override {
    linear_.AppendParameters(prefix, out);
  }

 private:
  LinearLayer linear_;
};

}  // namespace tessera
#endif  // TESSERA_MODELS_LAYERS_EXPERTS_H_
