#include "embedding/table/table_start.h"

namespace tessera::internal {

bool ActsBeforeLookup(const AnyRule& rule) {
  return std::holds_alternative<CounterRowwiseAdagrad>(rule) ||
         std::holds_alternative<EnsembleRowwiseAdagrad>(rule) ||
         std::holds_alternative<EmaInPlaceRowwiseAdagrad>(rule) ||
         std::holds_alternative<GlobalDecayRowwiseAdagrad>(rule);
}

int CopiedState(const AnyRule& rule, int64_t steps) {
  const auto* ensemble = std::get_if<EnsembleRowwiseAdagrad>(&rule);
  const bool copied = ensemble != nullptr && ensemble->step_mode == EnsembleStepMode::kUseIter &&
                      steps >= ensemble->step_ema;
  return copied ? 1 : -1;  // momentum2
}

bool CanTakeRowsOnUse(const BaseEmbeddingConfig& config) {
  const bool updated = !std::holds_alternative<Dense>(config.optimizer) &&
                       !std::holds_alternative<None>(config.optimizer);
  return config.growing && !IsCached(config.location) && config.init_fn == nullptr && updated &&
         !ActsBeforeLookup(config.optimizer);
}

RowStart StartOf(Context& ctx, const BaseEmbeddingConfig& config) {
  const auto [low, high] = InitRange(config);
  RowStart start = {.low = low, .high = high, .seed = ctx.random().seed()};
  const PlaceInTable& place = config.place;
  const bool is_shard = place.whole_columns > 0;
  start.sequence = is_shard ? place.start_sequence : ctx.random().TakeSequence();
  start.row_elements = is_shard ? place.whole_columns : config.embedding_dim;
  start.first = place.first_row * start.row_elements + place.first_column;
  return start;
}

}  // namespace tessera::internal
