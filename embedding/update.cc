#include "embedding/update.h"

#include "embedding/update_impl.h"
#include "runtime/dispatch.h"

namespace tessera {
namespace {

void CheckTable(const LookupArgs& lookup, const UpdateTable& table, size_t index) {
  for (const int f : table.features) {
    TESSERA_CHECK(f >= 0 && static_cast<size_t>(f) < lookup.features.size(),
                  "update, table {}: feature {} of {}", index, f, lookup.features.size());
    const LookupFeature& feature = lookup.features[static_cast<size_t>(f)];
    TESSERA_CHECK_EQ(feature.dim, table.dim, "update, table {}: dim of feature {}", index, f);
    TESSERA_CHECK_EQ(feature.output_type, DType::kF32, "update, table {}: gradient of feature {}",
                     index, f);
  }
}

}  // namespace

void Update(Context& ctx, const UpdateArgs& args) {
  for (size_t i = 0; i < args.tables.size(); ++i) {
    const UpdateTable& table = args.tables[i];
    CheckTable(args.lookup, table, i);
    TESSERA_CHECK(
        !std::holds_alternative<Dense>(*table.rule) && !std::holds_alternative<None>(*table.rule),
        "update, table {}: the rule is {}, which updates nothing", i, RuleName(*table.rule));
    TESSERA_CHECK_EQ(table.states.size(), RuleStates(*table.rule).size(),
                     "update, table {}: states of {}", i, RuleName(*table.rule));
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
