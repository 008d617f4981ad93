#include "planner/search/lower_bound.h"

#include <algorithm>

namespace tessera::internal {
namespace {

constexpr int kBoundBisections = 60, kPriceSteps = 40;

// A threshold from which on an item has a cheaper choice.
struct PriceStep {
  double threshold, saving;  // the first choice of an item "saves" −total
  bool first;
};

void AddSteps(const Item& item, std::vector<PriceStep>& steps) {
  std::vector<const Candidate*> by_largest;
  for (const Candidate& c : item.candidates) by_largest.push_back(&c);
  std::sort(by_largest.begin(), by_largest.end(), [](const Candidate* a, const Candidate* b) {
    return a->largest != b->largest ? a->largest < b->largest : a->total < b->total;
  });
  double least = kNever;
  for (const Candidate* c : by_largest) {
    if (c->total >= least) continue;
    steps.push_back({c->largest, least == kNever ? -c->total : least - c->total, least == kNever});
    least = c->total;
  }
}

// Σ over items of the least total + price · hbm with every shard ≤ t and inside a rank.
double LeastPriced(const std::vector<Item>& items, double t, double price, const Storage& room) {
  double sum = 0;
  for (const Item& item : items) {
    double least = kNever;
    for (const Candidate& c : item.candidates)
      if (c.largest <= t && c.most.FitsIn(room))
        least = std::min(least, c.total + price * static_cast<double>(c.sum.hbm));
    sum += least;
  }
  return sum;
}

struct MemoryProblem {
  const std::vector<Item>& items;
  double servers;
  Storage room;  // the largest rank's
  double hbm;    // of all ranks

  // Whether some price shows that no plan has a busiest rank of t.
  bool Excluded(double t) const {
    const double limit = t * servers;
    if (LeastPriced(items, t, 0, room) > limit) return true;
    if (hbm <= 0) return false;
    const auto value = [&](double price) {
      return LeastPriced(items, t, price, room) - price * hbm;
    };
    // The value is concave in the price: a ternary search over prices, whose natural unit is all
    // the time for all the memory.
    double low = 0, high = 64 * limit / hbm;
    for (int i = 0; i < kPriceSteps; ++i) {
      const double a = low + (high - low) / 3, b = high - (high - low) / 3;
      const double at_a = value(a), at_b = value(b);
      if (at_a > limit || at_b > limit) return true;
      (at_a < at_b ? low : high) = at_a < at_b ? a : b;
    }
    return false;
  }
};

}  // namespace

double ThresholdBound(const std::vector<Item>& items, double servers) {
  std::vector<PriceStep> steps;
  for (const Item& item : items) AddSteps(item, steps);
  std::sort(steps.begin(), steps.end(),
            [](const PriceStep& a, const PriceStep& b) { return a.threshold < b.threshold; });
  double least = 0;
  size_t missing = items.size();
  for (size_t i = 0; i < steps.size();) {
    const double threshold = steps[i].threshold;
    for (; i < steps.size() && steps[i].threshold == threshold; ++i) {
      least -= steps[i].saving;
      missing -= steps[i].first;
    }
    if (missing > 0) continue;
    const double t = std::max(threshold, least / servers);
    if (i == steps.size() || t < steps[i].threshold) return t;
  }
  return items.empty() ? 0 : kNever;
}

double MemoryBound(const std::vector<Item>& items, double servers,
                   const std::vector<Storage>& capacity, double threshold_bound) {
  MemoryProblem problem{items, servers, LargestOf(capacity), 0};
  for (const Storage& rank : capacity)
    problem.hbm += static_cast<double>(std::max<int64_t>(0, rank.hbm));
  if (!(threshold_bound < kNever) || !problem.Excluded(threshold_bound)) return threshold_bound;
  double low = threshold_bound, high = std::max(low, 1e-9);
  for (int i = 0; i < kBoundBisections && problem.Excluded(high); ++i) {
    low = high;
    high *= 2;
  }
  if (problem.Excluded(high)) return low;
  for (int i = 0; i < kBoundBisections && low < high * (1 - 1e-9); ++i) {
    const double middle = (low + high) / 2;
    (problem.Excluded(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace tessera::internal
