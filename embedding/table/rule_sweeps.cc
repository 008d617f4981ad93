#include "embedding/table/rule_sweeps.h"

#include <algorithm>

#include "embedding/table/fused_states.h"
#include "embedding/table/table_on_disk.h"
#include "embedding/table/table_start.h"

namespace tessera::internal {
namespace {

bool IsCounted(const EmbeddingTable& table) {
  return std::holds_alternative<CounterRowwiseAdagrad>(table.config.optimizer);
}

// The maximum is over the rows of all tables with counters.
void RenewMaxCounter(Context& ctx, TablesState& state) {
  const auto renews = [](const EmbeddingTable& table) {
    return RenewsMaxCounter(table.config.optimizer, table.iter);
  };
  if (state.options.sharding.shares_max_counter || std::ranges::none_of(state.tables, renews))
    return;
  const float largest = LargestCounterSync(ctx, state);
  for (EmbeddingTable& table : state.tables)
    if (renews(table)) SetMaxCounter(table.config.optimizer, largest);
}

// Whether the rule sweeps the table in the step that begins.
bool IsSwept(const EmbeddingTable& table) {
  return table.updated() && SweepAt(table.config.optimizer, table.iter).any();
}

// Blocks of columns of the same rows owe the same decay: the first of them counts.
bool IsFirstToOweDecay(const TablesState& state, size_t t) {
  const EmbeddingTable& table = state.tables[t];
  if (!std::holds_alternative<GlobalDecayRowwiseAdagrad>(table.config.optimizer)) return false;
  const auto end = state.tables.begin() + static_cast<std::ptrdiff_t>(t);
  return std::none_of(state.tables.begin(), end,
                      [&](const EmbeddingTable& other) { return other.SharesRowsWith(table); });
}

}  // namespace

bool ActsBeforeLookup(const EmbeddingTable& table) {
  return ActsBeforeLookup(table.config.optimizer);
}

bool ActsInSomeSteps(const EmbeddingTable& table) {
  const auto* counted = std::get_if<CounterRowwiseAdagrad>(&table.config.optimizer);
  return counted != nullptr ? counted->max_counter_update_freq > 0 : ActsBeforeLookup(table);
}

bool RenewsMaxCounter(const AnyRule& rule, int64_t step) {
  const auto* counted = std::get_if<CounterRowwiseAdagrad>(&rule);
  return counted != nullptr && counted->max_counter_update_freq > 0 &&
         step % counted->max_counter_update_freq == 0;
}

float LargestCounterSync(Context& ctx, const TablesState& state) {
  float largest = 1;
  if (std::ranges::none_of(state.tables, IsCounted)) return largest;
  ScratchVector<UpdateTable> tables;
  for (const EmbeddingTable& table : state.tables) {
    if (!IsCounted(table)) continue;
    if (table.cache) table.cache->Flush(ctx);  // a count may fall: an old one must not be seen
    if (!table.disk) tables.push_back(table.Whole());
  }
  InOrderOfCaches(ctx, state, [&] {
    largest = MaxRowCounterSync(ctx, tables);
    for (const EmbeddingTable& table : state.tables) {
      if (!table.disk || !IsCounted(table)) continue;
      ForEachPieceOnDisk(ctx, table, /*written=*/false, [&](const UpdateTable& piece) {
        largest = std::max(largest, MaxRowCounterSync(ctx, {&piece, 1}));
      });
    }
  });
  return largest;
}

void SweepForRules(Context& ctx, TablesState& state) {
  RenewMaxCounter(ctx, state);
  TablesByStep swept;
  for (const EmbeddingTable& table : state.tables) {
    if (!IsSwept(table)) continue;
    table.AppendWhole(swept[table.iter]);
    if (table.touched) table.touched->TouchAll();
  }
  if (swept.empty()) return;
  InOrderOfCaches(ctx, state, [&] {
    for (const auto& [step, tables] : swept) SweepTables(ctx, tables, step);
    for (const EmbeddingTable& table : state.tables) {
      if (!table.disk || !IsSwept(table)) continue;
      ForEachPieceOnDisk(ctx, table, /*written=*/true, [&](const UpdateTable& piece) {
        SweepTables(ctx, {&piece, 1}, table.iter);
      });
    }
  });
}

Tensor PendingDecayWeights(Context& ctx, const TablesState& state, const TableBatch& batch,
                           std::span<const LookupFeature> features) {
  TablesByStep owing;
  for (size_t t = 0; t < state.tables.size(); ++t)
    if (IsFirstToOweDecay(state, t))
      owing[state.tables[t].iter].push_back(batch.UpdateOf(state, static_cast<int>(t)));
  Tensor owed;
  LookupArgs lookup = batch.Args(features);
  for (const auto& [step, tables] : owing) {
    const Tensor next = OwedWeights(ctx, lookup, tables, step);
    if (!next) continue;
    owed = next;
    lookup.weights = owed.data<float>();
  }
  return owed;
}

}  // namespace tessera::internal
