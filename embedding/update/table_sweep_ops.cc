#include "embedding/update/table_sweep_ops.h"

#include <algorithm>

#include "embedding/update/executor_table.h"
#include "runtime/elementwise.h"
#include "runtime/tensor.h"

namespace tessera {

using internal::ExecutorTable;

void SweepTables(Context& ctx, std::span<const UpdateTable> tables, int64_t step) {
  for (const UpdateTable& table : tables) {
    const TableSweep sweep = SweepAt(*table.rule, step);
    if (!sweep.any()) continue;
    const ExecutorTable rows = internal::MakeExecutorTable(table, step);
    if (sweep.halves) {
      CheckDimOfRule(*table.rule, table.dim);
      internal::Elementwise(ctx, table.num_rows * (table.dim / 2),
                            internal::LeadElement{rows, sweep});
    } else {
      internal::Elementwise(ctx, table.num_rows * table.dim,
                            internal::EnsembleElement{rows, sweep});
    }
  }
}

float MaxRowCounterSync(Context& ctx, std::span<const UpdateTable> tables) {
  constexpr int64_t kParts = 1024;
  constexpr size_t kCounter = 2;  // place among CountedRowStates
  float largest = 0;
  for (const UpdateTable& table : tables) {
    if (!std::holds_alternative<CounterRowwiseAdagrad>(*table.rule)) continue;
    const Tensor maxima = Tensor::Empty(ctx, {std::min(kParts, table.num_rows)});
    internal::Elementwise(
        ctx, maxima.numel(),
        internal::PartMaximum{static_cast<const float*>(table.states[kCounter]), table.num_rows,
                              maxima.numel(), maxima.data<float>()});
    for (const float part : maxima.ToVector<float>()) largest = std::max(largest, part);
  }
  return largest + 1.0f;
}

Tensor OwedWeights(Context& ctx, const LookupArgs& lookup, std::span<const UpdateTable> tables,
                   int64_t step) {
  constexpr size_t kPrevIter = 1;  // place among the rule's states
  Tensor weights;
  for (const UpdateTable& table : tables) {
    const auto* rule = std::get_if<GlobalDecayRowwiseAdagrad>(table.rule);
    if (rule == nullptr || !rule->OwedAt(step).active) continue;
    if (!weights) {
      weights = Tensor::Empty(ctx, {lookup.num_ids});
      internal::Elementwise(ctx, lookup.num_ids,
                            internal::CopyWeight{lookup.weights, weights.data<float>()});
    }
    for (const int f : table.features) {
      const LookupFeature& feature = lookup.features[static_cast<size_t>(f)];
      TESSERA_CHECK(feature.pooling != PoolingType::kNone,
                    "{}: only pooled tables decay globally; pooling is NONE", rule->kName);
      internal::Elementwise(ctx, lookup.num_ids,
                            internal::OwedWeight{feature, lookup.offsets, rule->OwedAt(step),
                                                 static_cast<const float*>(table.states[kPrevIter]),
                                                 weights.data<float>()});
    }
  }
  return weights;
}

}  // namespace tessera
