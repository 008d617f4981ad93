#ifndef TESSERA_OPTIM_RULES_ADAMW_H_
#define TESSERA_OPTIM_RULES_ADAMW_H_
// AdamW (Loshchilov & Hutter 2019): Adam with decoupled decay, as optim/rules/adam.h has it, under
// the name and with the default of torch.optim.AdamW.
#include "optim/rules/adam.h"

namespace tessera {

struct AdamW {
  float lr = 0.001f;
  float eps = 1e-8f;
  double beta1 = 0.9, beta2 = 0.999;
  float weight_decay = 0.01f;

  static constexpr const char* kName = "adamw";
  StateSpecs States() const { return {{"momentum1"}, {"momentum2"}}; }

  using Step = Adam::Step;
  Step AtStep(int64_t t) const { return {AdamStepOf(*this, t, /*by_row=*/false)}; }
};

}  // namespace tessera
#endif  // TESSERA_OPTIM_RULES_ADAMW_H_
