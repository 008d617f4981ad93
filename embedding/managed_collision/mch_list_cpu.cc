// The list on a CPU: as many of its places as there are newcomers are sorted, and the changed ones
// merged with the rest.
#include <algorithm>
#include <numeric>
#include <utility>

#include "embedding/managed_collision/mch_list.h"
#include "runtime/for_each.h"

namespace tessera::internal {
namespace {

// Candidates that are not in the list, by count (descending), by id.
struct Newcomers {
  std::vector<int64_t> ids, counts, last;
};

struct Swap {
  std::vector<size_t> places, newcomers;  // newcomer [i] takes the row of place [i]
};

Newcomers Absorb(const MchColumns& list, const MchCandidates& candidates) {
  const auto ids = candidates.ids.span<int64_t>(), counts = candidates.counts.span<int64_t>();
  const int64_t* last = MchColumns::Column(candidates.last);
  const uint8_t* admitted =
      candidates.admitted.defined() ? candidates.admitted.data<uint8_t>() : nullptr;
  std::vector<size_t> order;
  for (size_t u = 0; u < ids.size(); ++u) {
    if (ids[u] == kNobody || (admitted != nullptr && admitted[u] == 0)) continue;
    const int64_t place = list.PlaceOf(ids[u]);
    if (place < 0) {
      order.push_back(u);
      continue;
    }
    if (list.counts != nullptr) list.counts[place] += counts[u];
    if (list.last != nullptr) list.last[place] = last[u];
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return counts[a] > counts[b]; });
  Newcomers newcomers;
  for (const size_t u : order) {
    newcomers.ids.push_back(ids[u]);
    newcomers.counts.push_back(counts[u]);
    if (last != nullptr) newcomers.last.push_back(last[u]);
  }
  return newcomers;
}

Swap Choose(const MchColumns& list, const Newcomers& newcomers, const MchScore& score) {
  std::vector<double> new_scores, place_scores;
  const int64_t* new_last = newcomers.last.empty() ? nullptr : newcomers.last.data();
  for (size_t i = 0; i < newcomers.ids.size(); ++i)
    new_scores.push_back(score.At(newcomers.counts.data(), new_last, static_cast<int64_t>(i)));
  for (int64_t p = 0; p + 1 < list.size; ++p)
    place_scores.push_back(score.At(list.counts, list.last, p));

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

// Places in the order of their ids, where those of `changed` have new ones.
std::vector<size_t> OrderById(const MchColumns& list, const std::vector<size_t>& changed) {
  std::vector<bool> is_changed(static_cast<size_t>(list.size), false);
  for (const size_t p : changed) is_changed[p] = true;
  std::vector<size_t> kept, moved = changed, order(is_changed.size());
  for (size_t p = 0; p < is_changed.size(); ++p)
    if (!is_changed[p]) kept.push_back(p);
  const auto by_id = [&](size_t a, size_t b) { return list.ids[a] < list.ids[b]; };
  std::sort(moved.begin(), moved.end(), by_id);
  std::merge(kept.begin(), kept.end(), moved.begin(), moved.end(), order.begin(), by_id);
  return order;
}

void Reorder(const Tensor& column, const std::vector<size_t>& order) {
  if (!column.defined()) return;
  const auto values = column.span<int64_t>();
  std::vector<int64_t> taken;
  taken.reserve(order.size());
  for (const size_t p : order) taken.push_back(values[p]);
  std::copy(taken.begin(), taken.end(), values.begin());
}

}  // namespace

void RemapIds(OnCpu on, Context& ctx, int64_t n, const RemapByList& remap) {
  ForEach(on, ctx, n, 1024, remap);
}

Tensor LatestOf(OnCpu, Context& ctx, const Tensor& inverse, const Tensor& times, int64_t distinct) {
  const Tensor latest = Tensor::Zeros(ctx, {distinct}, DType::kI64);
  const auto id = inverse.span<int64_t>(), time = times.span<int64_t>();
  for (size_t i = 0; i < id.size(); ++i) latest.data<int64_t>()[id[i]] = time[i];
  return latest;
}

std::vector<int64_t> UpdateListSync(OnCpu, Context&, MchList* list, const MchCandidates& candidates,
                                    const MchScore& score) {
  const MchColumns columns(*list);
  const Newcomers newcomers = Absorb(columns, candidates);
  if (columns.counts != nullptr) columns.counts[columns.size - 1] = kNobody;
  if (columns.last != nullptr) columns.last[columns.size - 1] = score.now();
  const Swap swap = Choose(columns, newcomers, score);
  std::vector<int64_t> evicted;
  for (size_t i = 0; i < swap.places.size(); ++i) {
    const size_t p = swap.places[i], u = swap.newcomers[i];
    if (columns.ids[p] != kNobody) evicted.push_back(columns.rows[p]);
    columns.ids[p] = newcomers.ids[u];
    if (columns.counts != nullptr) columns.counts[p] = newcomers.counts[u];
    if (columns.last != nullptr) columns.last[p] = newcomers.last[u];
  }
  const std::vector<size_t> order = OrderById(columns, swap.places);
  for (const Tensor* column : {&list->ids, &list->rows, &list->counts, &list->last})
    Reorder(*column, order);
  return evicted;
}

}  // namespace tessera::internal
