// Misses of a cache of rows, against what an LRU really misses.
#include "planner/step_model/cache_misses.h"

#include <gtest/gtest.h>

#include <cmath>
#include <list>
#include <random>
#include <set>
#include <unordered_map>
#include <vector>

namespace tessera {
namespace {

// Misses a step of an LRU that is asked for the distinct rows of each batch, after it is warm.
double MeasuredMisses(const std::vector<double>& weights, int ids, size_t lines) {
  std::mt19937 random(5);
  std::discrete_distribution<int> row(weights.begin(), weights.end());
  std::list<int> used;  // the last used first
  std::unordered_map<int, std::list<int>::iterator> held;
  constexpr int kWarm = 300, kCounted = 300;
  int64_t misses = 0;
  for (int step = 0; step < kWarm + kCounted; ++step) {
    std::set<int> batch;
    for (int i = 0; i < ids; ++i) batch.insert(row(random));
    for (const int r : batch) {
      if (const auto found = held.find(r); found != held.end())
        used.erase(found->second);
      else if (step >= kWarm)
        ++misses;
      used.push_front(r);
      held[r] = used.begin();
    }
    for (; used.size() > lines; used.pop_back()) held.erase(used.back());
  }
  return static_cast<double>(misses) / kCounted;
}

std::vector<double> ZipfWeights(int rows, double exponent) {
  std::vector<double> weights;
  for (int k = 1; k <= rows; ++k) weights.push_back(std::pow(k, -exponent));
  return weights;
}

TEST(CacheMissesTest, EvenRowsMissByTheShareThatIsNotHeld) {
  const RowPopularity even = UniformRows(1000);
  EXPECT_NEAR(CacheMisses(even, 200, 250), 0.75 * DistinctRows(even, 200), 1e-6);
  EXPECT_EQ(CacheMisses(even, 200, 1000), 0);
  EXPECT_EQ(CacheMisses(even, 0, 10), 0);
}

TEST(CacheMissesTest, AreThoseOfAnLru) {
  constexpr int kRows = 20'000, kIds = 800;
  for (const double exponent : {0.6, 1.0, 1.4})
    for (const size_t lines : {1'000, 4'000}) {
      const double measured = MeasuredMisses(ZipfWeights(kRows, exponent), kIds, lines);
      const double expected =
          CacheMisses(ZipfRows(kRows, exponent, false), kIds, static_cast<double>(lines));
      EXPECT_NEAR(expected / measured, 1, 0.1) << exponent << ", " << lines << " lines";
    }
}

}  // namespace
}  // namespace tessera
