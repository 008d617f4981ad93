#include "embedding/update/executor_table.h"

namespace tessera::internal {

ExecutorTable MakeExecutorTable(const UpdateTable& table, int64_t step) {
  ExecutorTable result;
  result.weights = table.weights;
  result.row_type = table.row_type;
  result.dim = table.dim;
  result.rounding = table.rounding;
  result.step = step;
  result.gradient_scale = table.gradient_scale;
  if (table.rule == nullptr) return result;
  const StateSpecs specs = RuleStates(*table.rule);
  int elements = 0, rows = 0;
  for (size_t s = 0; s < specs.size(); ++s) {
    StateArray& state =
        specs[s].per_row ? result.row_states[rows++] : result.element_states[elements++];
    state.data = table.states[s];
    state.type = specs[s].counts ? DType::kF32 : table.state_type;
  }
  return result;
}

DType GradientTypeOf(const LookupArgs& lookup, const UpdateTable& table) {
  if (table.features.empty()) return DType::kF32;
  return lookup.features[static_cast<size_t>(table.features[0])].output_type;
}

UpdateTable WithoutRule(const UpdateTable& table) {
  UpdateTable target = table;
  target.rule = nullptr;
  target.states.clear();
  target.row_type = DType::kF32;
  return target;
}

}  // namespace tessera::internal
