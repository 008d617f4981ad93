#include "embedding/deltas/model_delta_tracker.h"

#include <utility>

namespace tessera {
namespace {

// Returns what is kept of a table. Throws Error for a number that no table has.
template <typename Kept>
const Kept& At(const std::vector<Kept>& kept, int table, const char* call) {
  if (table < 0 || table >= std::ssize(kept))
    throw Error(Format("delta tracker: {} of table {}; expected 0 to {}", call, table,
                       std::ssize(kept) - 1));
  return kept[static_cast<size_t>(table)];
}

}  // namespace

ModelDeltaTracker::ModelDeltaTracker(Context& ctx, TableBatchedEmbedding tables,
                                     ModelDeltaTrackerOptions options)
    : tables_(std::move(tables)), options_(std::move(options)) {
  TESSERA_CHECK(!options_.consumers.empty(), "delta tracker: no consumer is named");
  for (int t = 0; t < tables_.num_tables(); ++t) touched_.push_back(tables_.rows().Track(ctx, t));
  for (const std::string& consumer : options_.consumers)
    TESSERA_CHECK(seen_.emplace(consumer, Seen(touched_.size())).second,
                  "delta tracker: two consumers are called '{}'", consumer);
  ClearAll();
}

const ModelDeltaTracker::Seen& ModelDeltaTracker::SeenBy(const std::string& consumer) const {
  const auto found = seen_.find(consumer);
  TESSERA_CHECK(found != seen_.end(), "delta tracker: there is no consumer '{}'", consumer);
  return found->second;
}

std::vector<UniqueRows> ModelDeltaTracker::GetUniqueIds(Context& ctx,
                                                        const std::string& consumer) const {
  const Seen& seen = SeenBy(consumer);
  std::vector<UniqueRows> unique;
  for (int t = 0; t < tables_.num_tables(); ++t) {
    const auto i = static_cast<size_t>(t);
    const BaseEmbeddingConfig& config = tables_.table(t);
    const int64_t rows = tables_.rows().in_use(t);
    touched_[i]->Grow(ctx, rows);
    if (std::holds_alternative<Dense>(config.optimizer)) touched_[i]->TouchAll();
    unique.push_back({.table = config.name,
                      .num_rows = rows,
                      .first_row = config.place.first_row,
                      .first_column = config.place.first_column,
                      .ids = touched_[i]->SinceSync(ctx, seen[i]),
                      .embeddings = {},
                      .states = {}});
  }
  return unique;
}

std::vector<UniqueRows> ModelDeltaTracker::GetUnique(Context& ctx, const std::string& consumer) {
  std::vector<UniqueRows> unique = GetUniqueIds(ctx, consumer);
  if (options_.mode != TrackingMode::kIdOnly) tables_.caches().Flush(ctx);
  for (int t = 0; t < tables_.num_tables(); ++t) {
    UniqueRows& rows = unique[static_cast<size_t>(t)];
    if (options_.mode != TrackingMode::kIdOnly)
      rows.embeddings = tables_.rows().Take(ctx, t, 0, rows.ids);
    if (options_.mode != TrackingMode::kEmbeddingAndStates) continue;
    for (int p = 1; p < tables_.rows().num_parts(t); ++p)
      rows.states.push_back(
          {tables_.rows().part(t, p).name, tables_.rows().Take(ctx, t, p, rows.ids)});
  }
  returned_[consumer] = EndTime();
  if (options_.delete_on_read) Clear(consumer);
  return unique;
}

std::vector<UniqueRows> ModelDeltaTracker::GetUnique(Context& ctx) {
  return GetUnique(ctx, options_.consumers.front());
}

ModelDeltaTracker::Seen ModelDeltaTracker::EndTime() {
  Seen ended;
  for (const auto& touched : touched_) ended.push_back(touched->EndTime());
  return ended;
}

void ModelDeltaTracker::Clear(const std::string& consumer) {
  SeenBy(consumer);
  const auto returned = returned_.find(consumer);
  seen_[consumer] = returned == returned_.end() ? EndTime() : returned->second;
  returned_.erase(consumer);
}

void ModelDeltaTracker::ClearAll() {
  returned_.clear();
  for (const std::string& consumer : options_.consumers) Clear(consumer);
}

void ModelDeltaTracker::Touch(Context& ctx, int table, const Tensor& ids) {
  At(touched_, table, "Touch")->Touch(ctx, ids);
}

void ModelDeltaTracker::TouchAll(int table) { At(touched_, table, "TouchAll")->TouchAll(); }

void ModelDeltaTracker::TouchAll() {
  for (const auto& touched : touched_) touched->TouchAll();
}

int64_t ModelDeltaTracker::bytes() const {
  int64_t bytes = 0;
  for (const auto& touched : touched_) bytes += touched->bytes();
  return bytes;
}

}  // namespace tessera
