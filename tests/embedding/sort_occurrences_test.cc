#include "embedding/update/sort_occurrences.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tessera::internal {
namespace {

template <typename Key>
void ExpectStableSort(Context& ctx, int64_t n, int64_t num_rows, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<Occurrence<Key>> data(static_cast<size_t>(n)), scratch(data.size());
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = {static_cast<Key>(random() % static_cast<uint64_t>(num_rows)),
               static_cast<uint32_t>(i)};
  std::vector<Occurrence<Key>> expected = data;
  std::stable_sort(expected.begin(), expected.end(),
                   [](const auto& a, const auto& b) { return a.row < b.row; });
  const Occurrence<Key>* sorted = SortOccurrences(ctx, data.data(), scratch.data(), n, num_rows);
  for (size_t i = 0; i < data.size(); ++i) {
    ASSERT_EQ(sorted[i].row, expected[i].row) << "n " << n << ", rows " << num_rows;
    ASSERT_EQ(sorted[i].payload, expected[i].payload) << "n " << n << ", rows " << num_rows;
  }
}

TEST(SortOccurrences, IsAStableSortForAnySizeAndNumberOfThreads) {
  for (const int threads : {1, 3}) {
    Context ctx({.threads = threads});
    for (const int64_t n : {0, 1, 2, 63, 1000, 200'000})
      for (const int64_t rows :
           {int64_t{1}, int64_t{2}, int64_t{1000}, int64_t{1} << 20, (int64_t{1} << 32) - 1})
        ExpectStableSort<uint32_t>(ctx, n, rows, static_cast<unsigned>(n + rows));
    for (const int64_t rows : {(int64_t{1} << 32) + 5, int64_t{1} << 45})
      ExpectStableSort<uint64_t>(ctx, 150'000, rows, 4);
  }
}

}  // namespace
}  // namespace tessera::internal
