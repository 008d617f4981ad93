#ifndef TESSERA_EMBEDDING_TABLE_RULE_SWEEPS_H_
#define TESSERA_EMBEDDING_TABLE_RULE_SWEEPS_H_
// A few rules act when a training forward begins, before rows are looked up. They sweep whole
// tables (EnsembleRowwiseAdagrad, EmaInPlaceRowwiseAdagrad), renew a maximum over all rows
// (CounterRowwiseAdagrad), or read rows with the decay that they owe (GlobalDecayRowwiseAdagrad).
// Other rules do nothing here.
#include <span>

#include "embedding/table/table_batch.h"
#include "runtime/tensor.h"

namespace tessera::internal {

// Whether the table's rule is one of these.
bool ActsBeforeLookup(const EmbeddingTable& table);
// Whether it acts before the lookup of some steps and not of others.
bool ActsInSomeSteps(const EmbeddingTable& table);

// Whether the rule takes max_counter anew in a step.
bool RenewsMaxCounter(const AnyRule& rule, int64_t step);
// The max_counter of the tables' rows as they are; 1 without counters. Waits for the device.
float LargestCounterSync(Context& ctx, const TablesState& state);

// Begins a step that is counted already: renews max_counter where it is due, unless ranks share it
// (waits for the device then), and sweeps the tables whose rules do so in this step.
void SweepForRules(Context& ctx, TablesState& state);

// Returns the weights of ids that a training forward reads with where rows owe decay (OwedWeights),
// undefined if none does.
Tensor PendingDecayWeights(Context& ctx, const TablesState& state, const TableBatch& batch,
                           std::span<const LookupFeature> features);

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_TABLE_RULE_SWEEPS_H_
