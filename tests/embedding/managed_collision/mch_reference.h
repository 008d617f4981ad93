#ifndef TESSERA_TESTS_EMBEDDING_MANAGED_COLLISION_MCH_REFERENCE_H_
#define TESSERA_TESTS_EMBEDDING_MANAGED_COLLISION_MCH_REFERENCE_H_
// MCH written down from its formulas: lists that are searched from end to end, and one sort of all
// that compete.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "embedding/managed_collision/mch_managed_collision_module.h"
#include "runtime/numbers/random.h"

namespace tessera::testing {

enum class Admission { kAll, kDynamic, kAverage, kProbabilistic };

struct MchReference {
  static constexpr int64_t kNobody = std::numeric_limits<int64_t>::max();
  struct Place {
    int64_t id = kNobody, row = 0, count = 0, last = 0;
  };
  struct Seen {
    int64_t id, iter;
  };

  MchEviction eviction;
  double decay;
  int64_t interval;
  Admission admission;
  double skew, probability;
  uint64_t seed;                // of the probabilistic filter
  std::vector<Place> places{};  // by id
  int64_t iter = 0, history_size = 0;
  uint64_t sequence = 0;
  std::vector<Seen> history{};
  std::set<int64_t> evicted{};

  void Begin(int64_t zch_size) {
    places.resize(static_cast<size_t>(zch_size));
    for (int64_t r = 0; r < zch_size; ++r) places[static_cast<size_t>(r)].row = r;
  }

  void Train(const std::vector<std::vector<int64_t>>& features) {
    ++iter;
    int64_t total = 0;
    for (const auto& ids : features) total += static_cast<int64_t>(ids.size());
    if (history_size <= 0)
      history_size = static_cast<int64_t>(static_cast<double>(total * interval) * 1.25);
    for (const auto& ids : features)
      for (const int64_t id : ids)
        if (static_cast<int64_t>(history.size()) < history_size) history.push_back({id, iter});
    if (iter % interval == 0) {
      Compete(Candidates());
      history.clear();
    }
  }

  int64_t RowOf(int64_t id) const {
    for (const Place& p : places)
      if (p.id == id && id != kNobody) return p.row;
    return static_cast<int64_t>(places.size()) - 1;
  }
  std::vector<int64_t> RowsOf(const std::vector<int64_t>& ids) const {
    std::vector<int64_t> rows;
    for (const int64_t id : ids) rows.push_back(RowOf(id));
    return rows;
  }
  std::vector<int64_t> Ids() const {
    std::vector<int64_t> ids;
    for (const Place& p : places) ids.push_back(p.id);
    return ids;
  }
  std::vector<int64_t> Rows() const {
    std::vector<int64_t> rows;
    for (const Place& p : places) rows.push_back(p.row);
    return rows;
  }

 private:
  bool Admits(int64_t count, int64_t total, size_t distinct, size_t number) const {
    const double mean = static_cast<double>(total) / static_cast<double>(distinct);
    if (admission == Admission::kDynamic) return static_cast<double>(count) > skew * mean;
    if (admission == Admission::kAverage) return static_cast<double>(count) > mean;
    if (admission == Admission::kAll) return true;
    const PhiloxBits bits = Philox(seed, sequence, number);
    double refused = 1;
    for (int64_t i = 0; i < count; ++i) refused *= 1 - probability;
    return 1 - refused > UniformDouble(bits.v[0], bits.v[1]);
  }

  std::vector<Place> Candidates() {
    std::map<int64_t, Place> distinct;
    for (const Seen& seen : history) {
      Place& p = distinct[seen.id];
      p.id = seen.id;
      ++p.count;
      p.last = std::max(p.last, seen.iter);
    }
    std::vector<Place> admitted;
    size_t number = 0;
    for (const auto& [id, p] : distinct)
      if (Admits(p.count, static_cast<int64_t>(history.size()), distinct.size(), number++) &&
          id != kNobody)
        admitted.push_back(p);
    if (admission == Admission::kProbabilistic && !distinct.empty()) ++sequence;
    std::stable_sort(admitted.begin(), admitted.end(),
                     [](const Place& a, const Place& b) { return a.count > b.count; });
    return admitted;
  }

  double Score(const Place& p) const {
    const double distance = std::pow(static_cast<double>(iter - p.last + 1), decay);
    if (eviction == MchEviction::kLfu) return static_cast<double>(p.count);
    return eviction == MchEviction::kLru ? -distance : static_cast<double>(p.count) / distance;
  }

  void Compete(const std::vector<Place>& candidates) {
    const size_t size = places.size();
    places.back().count = kNobody;
    places.back().last = iter;
    std::vector<Place> all = places;
    for (const Place& c : candidates) {
      const auto same = std::find_if(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(size),
                                     [&](const Place& p) { return p.id == c.id; });
      if (same != all.begin() + static_cast<std::ptrdiff_t>(size)) {
        same->count += c.count;
        same->last = c.last;
      } else {
        all.push_back(c);
      }
    }
    std::vector<size_t> order(all.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return Score(all[a]) > Score(all[b]); });
    std::vector<size_t> losers, winners;
    for (size_t i = 0; i < order.size(); ++i) {
      if (i < size && order[i] >= size) winners.push_back(order[i]);
      if (i >= size && order[i] < size) losers.push_back(order[i]);
    }
    for (size_t i = 0; i < winners.size(); ++i) {
      Place& loser = all[losers[i]];
      if (loser.id != kNobody) evicted.insert(loser.row);
      const int64_t row = loser.row;
      loser = all[winners[i]];
      loser.row = row;
    }
    all.resize(size);
    std::stable_sort(all.begin(), all.end(),
                     [](const Place& a, const Place& b) { return a.id < b.id; });
    places = all;
  }
};

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_EMBEDDING_MANAGED_COLLISION_MCH_REFERENCE_H_
