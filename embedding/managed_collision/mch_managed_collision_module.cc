#include "embedding/managed_collision/mch_managed_collision_module.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "embedding/managed_collision/state_reader.h"
#include "runtime/math.h"
#include "sparse/unique.h"

namespace tessera {
namespace {

constexpr int64_t kNobody = std::numeric_limits<int64_t>::max();

// distance^exponent, exact where it can be.
double DistancePower(int64_t distance, double exponent) {
  const auto d = static_cast<double>(distance);
  if (exponent == std::floor(exponent)) return PowInteger(d, static_cast<int64_t>(exponent));
  return Pow(d, exponent);
}

template <typename T>
std::vector<T> Taken(const std::vector<T>& from, const std::vector<size_t>& order) {
  std::vector<T> taken;
  if (from.empty()) return taken;
  taken.reserve(order.size());
  for (const size_t i : order) taken.push_back(from[i]);
  return taken;
}

NamedTensor Numbers(Context& ctx, std::string name, const std::vector<int64_t>& values) {
  return {std::move(name), Tensor::From(ctx, values)};
}

// Ids ascend, each once but for nobody's; each row is there once; the miss row is the last.
void CheckPlaces(const std::string& what, const std::vector<int64_t>& ids,
                 std::vector<int64_t> rows) {
  for (size_t p = 1; p < ids.size(); ++p)
    TESSERA_CHECK(ids[p - 1] < ids[p] || ids[p] == kNobody,
                  "state of {}: id {} after {} in _mch_sorted_raw_ids", what, ids[p], ids[p - 1]);
  TESSERA_CHECK(ids.back() == kNobody && rows.back() + 1 == static_cast<int64_t>(rows.size()),
                "state of {}: the last row is not the last place's, or somebody's", what);
  std::sort(rows.begin(), rows.end());
  for (size_t r = 0; r < rows.size(); ++r)
    TESSERA_CHECK_EQ(rows[r], static_cast<int64_t>(r),
                     "state of {}: rows in _mch_remapped_ids_mapping", what);
}

void CheckHistory(const std::string& what, const std::vector<int64_t>& size,
                  const std::vector<int64_t>& ids, const std::vector<int64_t>& last) {
  TESSERA_CHECK_EQ(ids.size(), last.size(), "state of {}: ids and accesses of the history", what);
  TESSERA_CHECK(ids.empty() || (!size.empty() && static_cast<int64_t>(ids.size()) <= size.front()),
                "state of {}: {} ids are more than the history holds", what, ids.size());
}

}  // namespace

std::string ToString(MchEviction eviction) {
  switch (eviction) {
    case MchEviction::kLfu:
      return "LFU";
    case MchEviction::kLru:
      return "LRU";
    case MchEviction::kDistanceLfu:
      return "DISTANCE_LFU";
  }
  return "?";
}

MCHManagedCollisionModule::MCHManagedCollisionModule(MchOptions options)
    : options_(std::move(options)) {
  const MchOptions& o = options_;
  TESSERA_CHECK_GE(o.zch_size, 1, "MCH {}: zch_size", o.name);
  TESSERA_CHECK_GE(o.eviction_interval, 1, "MCH {}: eviction_interval", o.name);
  TESSERA_CHECK_GE(o.input_hash_size, 1, "MCH {}: input_hash_size", o.name);
  TESSERA_CHECK_GE(o.mch_size, 0, "MCH {}: mch_size", o.name);
  TESSERA_CHECK(o.mch_size == 0 || o.mch_hash_func, "MCH {}: an mch_size without mch_hash_func",
                o.name);
  TESSERA_CHECK(o.eviction_policy.decay_exponent > 0, "MCH {}: decay_exponent {}; expected above 0",
                o.name, o.eviction_policy.decay_exponent);
  const auto places = static_cast<size_t>(o.zch_size);
  list_.ids.assign(places, kNobody);
  list_.rows.resize(places);
  std::iota(list_.rows.begin(), list_.rows.end(), int64_t{0});
  if (has_counts()) list_.counts.assign(places, 0);
  if (has_last()) list_.last.assign(places, 0);
}

std::vector<Tensor> MCHManagedCollisionModule::Map(Context& ctx, std::span<const Tensor> given,
                                                   bool training) {
  const std::vector<Tensor> ids = Hashed(ctx, given);
  if (training) Profile(ctx, ids);
  std::vector<Tensor> rows;
  for (const Tensor& feature : ids) rows.push_back(Remap(ctx, feature));
  return rows;
}

std::vector<Tensor> MCHManagedCollisionModule::Hashed(Context& ctx,
                                                      std::span<const Tensor> ids) const {
  std::vector<Tensor> hashed;
  for (const Tensor& feature : ids) {
    hashed.push_back(feature.To(ctx, DType::kI64));
    if (!options_.input_hash_func) continue;
    hashed.back() = feature.dtype() == DType::kI64 ? feature.Clone(ctx) : hashed.back();
    for (int64_t& id : hashed.back().span<int64_t>())
      id = options_.input_hash_func(id, options_.input_hash_size);
  }
  return hashed;
}

void MCHManagedCollisionModule::Profile(Context& ctx, std::span<const Tensor> ids) {
  ++iter_;
  if (history_size_ < 0) {
    int64_t total = 0;
    for (const Tensor& feature : ids) total += feature.numel();
    history_size_ = static_cast<int64_t>(static_cast<double>(total) *
                                         static_cast<double>(options_.eviction_interval) * 1.25);
  }
  for (const Tensor& feature : ids) {
    const auto values = feature.span<int64_t>();
    const auto room = static_cast<size_t>(history_size_) - history_ids_.size();
    const auto kept = values.first(std::min(room, values.size()));
    history_ids_.insert(history_ids_.end(), kept.begin(), kept.end());
    if (has_last()) history_last_.insert(history_last_.end(), kept.size(), iter_);
  }
  if (iter_ - last_eviction_iter_ < options_.eviction_interval) return;
  UpdateList(ctx);
  last_eviction_iter_ = iter_;
  history_ids_.clear();
  history_last_.clear();
}

int64_t MCHManagedCollisionModule::PlaceOf(int64_t id) const {
  const auto found = std::lower_bound(list_.ids.begin(), list_.ids.end(), id);
  if (id == kNobody || found == list_.ids.end() || *found != id) return -1;
  return found - list_.ids.begin();
}

Tensor MCHManagedCollisionModule::Remap(Context& ctx, const Tensor& ids) const {
  Tensor rows = Tensor::Empty(ctx, {ids.numel()}, DType::kI64);
  const auto* id = ids.data<int64_t>();
  auto* row = rows.data<int64_t>();
  const auto missing = [&](int64_t raw) {
    if (options_.mch_size == 0) return options_.zch_size - 1;
    return options_.zch_size + options_.mch_hash_func(raw, options_.mch_size);
  };
  ParallelFor(ctx, ids.numel(), 1024, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t place = PlaceOf(id[i]);
      row[i] = place >= 0 ? list_.rows[static_cast<size_t>(place)] : missing(id[i]);
    }
  });
  return rows;
}

void MCHManagedCollisionModule::UpdateList(Context& ctx) {
  const Candidates newcomers = Absorb(AdmittedIds(ctx));
  if (has_counts()) list_.counts.back() = kNobody;
  if (has_last()) list_.last.back() = iter_;
  Apply(Choose(newcomers), newcomers);
}

MCHManagedCollisionModule::Candidates MCHManagedCollisionModule::AdmittedIds(Context& ctx) const {
  const UniqueIds unique = Unique(ctx, Tensor::From(ctx, history_ids_));
  Candidates all = {unique.values.ToVector<int64_t>(), unique.counts.ToVector<int64_t>(), {}};
  if (has_last()) {
    all.last.assign(all.ids.size(), 0);
    const auto inverse = unique.inverse.span<int64_t>();
    for (size_t i = 0; i < inverse.size(); ++i)  // ascending, so the last one stays
      all.last[static_cast<size_t>(inverse[i])] = history_last_[i];
  }
  std::vector<bool> admitted(all.ids.size(), true);
  if (options_.eviction_policy.filter && !all.ids.empty())
    admitted = options_.eviction_policy.filter(ctx, all.counts);
  TESSERA_CHECK_EQ(admitted.size(), all.ids.size(), "MCH {}: answers of the admission filter",
                   options_.name);
  std::vector<size_t> order;
  for (size_t i = 0; i < all.ids.size(); ++i)
    if (admitted[i] && all.ids[i] != kNobody) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return all.counts[a] > all.counts[b]; });
  return {Taken(all.ids, order), Taken(all.counts, order), Taken(all.last, order)};
}

MCHManagedCollisionModule::Candidates MCHManagedCollisionModule::Absorb(
    const Candidates& candidates) {
  std::vector<size_t> newcomers;
  for (size_t i = 0; i < candidates.ids.size(); ++i) {
    const int64_t place = PlaceOf(candidates.ids[i]);
    if (place < 0) {
      newcomers.push_back(i);
      continue;
    }
    const auto p = static_cast<size_t>(place);
    if (has_counts()) list_.counts[p] += candidates.counts[i];
    if (has_last()) list_.last[p] = candidates.last[i];
  }
  return {Taken(candidates.ids, newcomers), Taken(candidates.counts, newcomers),
          Taken(candidates.last, newcomers)};
}

double MCHManagedCollisionModule::Score(int64_t count, int64_t last) const {
  const MchEvictionPolicy& policy = options_.eviction_policy;
  if (policy.eviction == MchEviction::kLfu) return static_cast<double>(count);
  const int64_t distance = iter_ - last + 1;
  if (policy.eviction == MchEviction::kLru) return -static_cast<double>(distance);
  return static_cast<double>(count) / DistancePower(distance, policy.decay_exponent);
}

// With newcomers from the best down and places from the worst up, newcomer i stays exactly if it is
// better than place i.
MCHManagedCollisionModule::Swap MCHManagedCollisionModule::Choose(
    const Candidates& newcomers) const {
  const auto score = [&](const std::vector<int64_t>& counts, const std::vector<int64_t>& last,
                         size_t i) {
    return Score(has_counts() ? counts[i] : 0, has_last() ? last[i] : 0);
  };
  std::vector<double> new_scores, place_scores;
  for (size_t i = 0; i < newcomers.ids.size(); ++i)
    new_scores.push_back(score(newcomers.counts, newcomers.last, i));
  for (size_t p = 0; p + 1 < list_.ids.size(); ++p)
    place_scores.push_back(score(list_.counts, list_.last, p));

  std::vector<size_t> best(new_scores.size()), worst(place_scores.size());
  std::iota(best.begin(), best.end(), size_t{0});
  std::stable_sort(best.begin(), best.end(),
                   [&](size_t a, size_t b) { return new_scores[a] > new_scores[b]; });
  std::iota(worst.begin(), worst.end(), size_t{0});
  const size_t most = std::min(best.size(), worst.size());
  std::partial_sort(worst.begin(), worst.begin() + static_cast<std::ptrdiff_t>(most), worst.end(),
                    [&](size_t a, size_t b) {
                      return std::pair(place_scores[a], b) < std::pair(place_scores[b], a);
                    });
  size_t swaps = 0;
  while (swaps < most && new_scores[best[swaps]] > place_scores[worst[swaps]]) ++swaps;
  best.resize(swaps);
  worst.resize(swaps);
  std::reverse(worst.begin(), worst.end());
  return {std::move(worst), std::move(best)};
}

void MCHManagedCollisionModule::Apply(const Swap& swap, const Candidates& newcomers) {
  std::vector<bool> changed(list_.ids.size(), false);
  for (size_t i = 0; i < swap.places.size(); ++i) {
    const size_t p = swap.places[i], c = swap.candidates[i];
    changed[p] = true;
    if (list_.ids[p] != kNobody) NoteEvicted(list_.rows[p]);
    list_.ids[p] = newcomers.ids[c];
    if (has_counts()) list_.counts[p] = newcomers.counts[c];
    if (has_last()) list_.last[p] = newcomers.last[c];
  }
  std::vector<size_t> kept, moved = swap.places, order(list_.ids.size());
  for (size_t p = 0; p < list_.ids.size(); ++p)
    if (!changed[p]) kept.push_back(p);
  const auto by_id = [&](size_t a, size_t b) { return list_.ids[a] < list_.ids[b]; };
  std::sort(moved.begin(), moved.end(), by_id);
  std::merge(kept.begin(), kept.end(), moved.begin(), moved.end(), order.begin(), by_id);
  list_ = {Taken(list_.ids, order), Taken(list_.rows, order), Taken(list_.counts, order),
           Taken(list_.last, order)};
}

std::vector<NamedTensor> MCHManagedCollisionModule::StateDict(Context& ctx) const {
  std::vector<NamedTensor> state = {
      Numbers(ctx, "_mch_sorted_raw_ids", list_.ids),
      Numbers(ctx, "_mch_remapped_ids_mapping", list_.rows),
      {"_current_iter_tensor", Tensor::From<int32_t>(ctx, {static_cast<int32_t>(iter_)})},
      Numbers(ctx, "_input_history_buffer_size", {history_size_}),
      Numbers(ctx, "_last_eviction_iter", {last_eviction_iter_}),
      Numbers(ctx, "_history_accumulator", history_ids_),
      Numbers(ctx, "_evicted_emb_indices", evicted_)};
  if (has_counts()) state.push_back(Numbers(ctx, "_mch_counts", list_.counts));
  if (has_last()) {
    state.push_back(Numbers(ctx, "_mch_last_access_iter", list_.last));
    state.push_back(Numbers(ctx, "_history_last_access_iter", history_last_));
  }
  return state;
}

void MCHManagedCollisionModule::LoadStateDict(Context& ctx,
                                              const std::vector<NamedTensor>& tensors) {
  const std::string what = "MCH " + options_.name;
  internal::StateReader reader(ctx, what, tensors);
  const Shape places = {options_.zch_size};
  const auto column = [&](const char* name) {
    return reader.Take(name, DType::kI64, places).ToVector<int64_t>();
  };
  List list = {column("_mch_sorted_raw_ids"), column("_mch_remapped_ids_mapping"), {}, {}};
  if (has_counts()) list.counts = column("_mch_counts");
  if (has_last()) list.last = column("_mch_last_access_iter");
  const int64_t iter =
      reader.Take("_current_iter_tensor", DType::kI32, {1}).ToVector<int32_t>().front();
  const std::vector<int64_t> size = reader.TakeNumbers("_input_history_buffer_size"),
                             last_eviction = reader.TakeNumbers("_last_eviction_iter");
  std::vector<int64_t> history = reader.TakeNumbers("_history_accumulator"), history_last,
                       evicted = reader.TakeNumbers("_evicted_emb_indices");
  if (has_last()) history_last = reader.TakeNumbers("_history_last_access_iter");
  reader.Finish();
  CheckPlaces(what, list.ids, list.rows);
  CheckHistory(what, size, history, has_last() ? history_last : history);
  for (const int64_t row : evicted)
    TESSERA_CHECK(row >= 0 && row < options_.zch_size, "state of {}: evicted row {}", what, row);
  list_ = std::move(list);
  iter_ = iter;
  last_eviction_iter_ = last_eviction.empty() ? iter : last_eviction.front();
  history_size_ = size.empty() ? -1 : size.front();
  history_ids_ = std::move(history);
  history_last_ = std::move(history_last);
  evicted_ = std::move(evicted);
}

}  // namespace tessera
