#include "optim/any_rule.h"

#include "runtime/check.h"

namespace tessera {

std::string ToString(WeightDecayMode mode) {
  return mode == WeightDecayMode::kL2         ? "L2"
         : mode == WeightDecayMode::kDecouple ? "DECOUPLE"
                                              : "NONE";
}

WeightDecayMode ParseWeightDecayMode(const std::string& name) {
  for (const WeightDecayMode mode :
       {WeightDecayMode::kNone, WeightDecayMode::kL2, WeightDecayMode::kDecouple})
    if (name == ToString(mode)) return mode;
  TESSERA_FAIL("weight_decay_mode '{}': expected NONE, L2 or DECOUPLE", name);
}

void CustomRule::Executor::UpdateOnCuda(Context&, float, int64_t, const internal::CudaRows&) const {
  TESSERA_FAIL(
      "the rule {} was compiled for the CPU only: make it with MakeCudaCustomRule in a .cu "
      "file that includes embedding/custom_rule.cuh",
      name());
}

const char* RuleName(const AnyRule& rule) {
  if (const auto* custom = std::get_if<CustomRule>(&rule)) return custom->executor->name();
  return std::visit(
      [](const auto& r) -> const char* {
        if constexpr (requires { r.kName; })
          return r.kName;
        else
          return "";
      },
      rule);
}

std::vector<StateSpec> RuleStates(const AnyRule& rule) {
  return std::visit([](const auto& r) { return r.States(); }, rule);
}

float LearningRate(const AnyRule& rule) {
  return std::visit([](const auto& r) { return r.lr; }, rule);
}

void SetLearningRate(AnyRule& rule, float lr) {
  std::visit([&](auto& r) { r.lr = lr; }, rule);
}

}  // namespace tessera
