#include "planner/search/option_choice.h"

#include <algorithm>

namespace tessera::internal {
namespace {

constexpr int kBisections = 50, kDoublings = 80;

// The price of a byte, in units of the items' cost.
struct Prices {
  double hbm = 0, ddr = 0;
};

struct Chooser {
  const std::vector<Item>& items;
  Storage room;  // of the largest rank
  double threshold, base;

  double Priced(const Candidate& c, const Prices& prices) const {
    return c.total + prices.hbm * static_cast<double>(c.sum.hbm) +
           prices.ddr * static_cast<double>(c.sum.ddr);
  }

  int Choose(const Item& item, const Prices& prices) const {
    int best = -1, smallest = -1;
    double least = kNever, least_shard = kNever;
    for (int i = 0; i < static_cast<int>(item.candidates.size()); ++i) {
      const Candidate& c = item.candidates[static_cast<size_t>(i)];
      if (!c.most.FitsIn(room)) continue;
      if (c.largest < least_shard) {
        least_shard = c.largest;
        smallest = i;
      }
      const double priced = Priced(c, prices);
      const bool on_all = c.partition_by() == PartitionBy::kUniform;
      if (c.largest > (on_all ? threshold : threshold - base) || priced >= least) continue;
      least = priced;
      best = i;
    }
    return best >= 0 ? best : std::max(smallest, 0);
  }

  std::vector<int> All(const Prices& prices) const {
    std::vector<int> chosen;
    for (const Item& item : items) chosen.push_back(Choose(item, prices));
    return chosen;
  }

  Storage SumOf(const std::vector<int>& chosen) const {
    Storage sum;
    for (size_t i = 0; i < items.size(); ++i)
      sum += items[i].candidates[static_cast<size_t>(chosen[i])].sum;
    return sum;
  }

  double TotalOf(const std::vector<int>& chosen) const {
    double total = 0;
    for (size_t i = 0; i < items.size(); ++i)
      total += items[i].candidates[static_cast<size_t>(chosen[i])].total;
    return total;
  }

  // The least price with which `fits` accepts the chosen candidates, or the highest tried.
  template <typename Set, typename Fits>
  Prices Least(Prices prices, double unit, Set set, Fits fits) const {
    double high = unit;
    int i = 0;
    set(prices, 0.0);
    if (fits(SumOf(All(prices)))) return prices;
    for (set(prices, high); i < kDoublings && !fits(SumOf(All(prices))); ++i)
      set(prices, high *= 4);
    double low = i == 0 ? 0 : high / 4;
    for (i = 0; i < kBisections && low < high * (1 - 1e-6); ++i) {
      const double middle = (low + high) / 2;
      set(prices, middle);
      (fits(SumOf(All(prices))) ? high : low) = middle;
    }
    set(prices, high);
    return prices;
  }
};

}  // namespace

std::vector<int> ChooseCandidates(const std::vector<Item>& items,
                                  const std::vector<Storage>& capacity, double threshold,
                                  double base, double share) {
  const Chooser chooser{items, LargestOf(capacity), threshold, base};
  double hbm = 0, ddr = 0;
  for (const Storage& rank : capacity) {
    hbm += share * static_cast<double>(rank.hbm);
    ddr += share * static_cast<double>(rank.ddr);
  }
  const std::vector<int> free_choice = chooser.All({});
  const double unit = std::max(chooser.TotalOf(free_choice), 1e-9) / std::max(hbm + ddr, 1.0) / 64;
  const auto fits_hbm = [&](const Storage& s) { return static_cast<double>(s.hbm) <= hbm; };
  const auto fits_ddr = [&](const Storage& s) { return static_cast<double>(s.ddr) <= ddr; };
  const auto set_hbm = [](Prices& p, double price) { p.hbm = price; };
  const auto set_ddr = [](Prices& p, double price) { p.ddr = price; };
  Prices prices;
  constexpr int kRounds = 3;  // each price depends on the other
  for (int round = 0; round < kRounds; ++round) {
    prices = chooser.Least(prices, unit, set_hbm, fits_hbm);
    prices = chooser.Least(prices, unit, set_ddr, fits_ddr);
    if (fits_hbm(chooser.SumOf(chooser.All(prices)))) break;
  }
  return chooser.All(prices);
}

}  // namespace tessera::internal
