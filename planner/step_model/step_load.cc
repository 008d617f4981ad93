#include "planner/step_model/step_load.h"

#include "optim/state_bytes.h"
#include "planner/step_model/rule_by_name.h"

namespace tessera {

std::vector<TableShape> ShapesOf(const StepLoad& load) {
  std::vector<TableShape> shapes;
  for (const StepTable& t : load.tables) shapes.push_back({t.name, t.rows, t.dim});
  return shapes;
}

double BytesOfStates(const StepTable& table, double columns) {
  return static_cast<double>(
      StateBytesARow(RuleByName(table.rule), table.state_type, static_cast<int64_t>(columns)));
}

double KeptBesideRow(const StepTable& table, double columns) {
  return table.kept_bytes ? static_cast<double>(table.kept_bytes->Of(static_cast<int64_t>(columns)))
                          : BytesOfStates(table, columns);
}

double BytesOfRow(const StepTable& table) {
  const auto columns = static_cast<double>(table.dim);
  return columns * static_cast<double>(SizeOf(table.row_type)) + BytesOfStates(table, columns);
}

std::string MeasuredRuleLike(const std::string& rule) {
  for (const char* measured : kMeasuredRules)
    if (rule == measured) return rule;
  int of_elements = 0, of_rows = 0;
  for (const StateSpec& state : RuleStates(RuleByName(rule)))
    ++(state.per_row ? of_rows : of_elements);
  if (of_elements > 0) return of_elements > 1 ? "adam" : "adagrad";
  return of_rows > 0 ? "rowwise_adagrad" : "sgd";
}

}  // namespace tessera
