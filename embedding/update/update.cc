#include "embedding/update/update.h"

#include "embedding/update/executor_table.h"
#include "embedding/update/update_impl.h"
#include "runtime/device/dispatch.h"

namespace tessera {
namespace {

bool IsFloat(DType type) {
  return type == DType::kF32 || type == DType::kF16 || type == DType::kBF16;
}

void CheckTypes(const UpdateTable& table, size_t index) {
  TESSERA_CHECK(IsFloat(table.row_type) && IsFloat(table.state_type),
                "update, table {}: rows of type {}, states of type {}; expected f32, f16 or bf16",
                index, table.row_type, table.state_type);
}

void CheckRuleOf(const UpdateTable& table, size_t index) {
  TESSERA_CHECK(
      !std::holds_alternative<Dense>(*table.rule) && !std::holds_alternative<None>(*table.rule),
      "update, table {}: the rule is {}, which updates nothing", index, RuleName(*table.rule));
  TESSERA_CHECK_EQ(table.states.size(), RuleStates(*table.rule).size(),
                   "update, table {}: states of {}", index, RuleName(*table.rule));
}

void CheckTable(const LookupArgs& lookup, const UpdateTable& table, size_t index) {
  CheckTypes(table, index);
  for (const int f : table.features) {
    TESSERA_CHECK(f >= 0 && static_cast<size_t>(f) < lookup.features.size(),
                  "update, table {}: feature {} of {}", index, f, lookup.features.size());
    const LookupFeature& feature = lookup.features[static_cast<size_t>(f)];
    TESSERA_CHECK_EQ(feature.dim, table.dim, "update, table {}: dim of feature {}", index, f);
    TESSERA_CHECK(IsFloat(feature.output_type),
                  "update, table {}: gradient of feature {} of type {}; expected f32, f16 or bf16",
                  index, f, feature.output_type);
    TESSERA_CHECK_EQ(feature.output_type, internal::GradientTypeOf(lookup, table),
                     "update, table {}: type of the gradient of feature {}, beside that of its "
                     "feature {}",
                     index, f, table.features[0]);
  }
}

}  // namespace

void Update(Context& ctx, const UpdateArgs& args) {
  for (size_t i = 0; i < args.tables.size(); ++i) {
    CheckTable(args.lookup, args.tables[i], i);
    CheckRuleOf(args.tables[i], i);
  }
  DispatchDevice(ctx.device(), [&](auto on) { internal::Update(on, ctx, args); });
}

RowGradients ComputeRowGradients(Context& ctx, const LookupArgs& lookup, const UpdateTable& table) {
  CheckTable(lookup, table, 0);
  return DispatchDevice(
      ctx.device(), [&](auto on) { return internal::ComputeRowGradients(on, ctx, lookup, table); });
}

Tensor ComputeDenseGradient(Context& ctx, const LookupArgs& lookup, const UpdateTable& table) {
  CheckTable(lookup, table, 0);
  return DispatchDevice(ctx.device(), [&](auto on) {
    return internal::ComputeDenseGradient(on, ctx, lookup, table);
  });
}

}  // namespace tessera
