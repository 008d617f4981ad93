#ifndef TESSERA_TESTS_EMBEDDING_MANAGED_COLLISION_RAW_IDS_H_
#define TESSERA_TESTS_EMBEDDING_MANAGED_COLLISION_RAW_IDS_H_
// Batches of raw ids as production has them: any 64 bits, a few of them often, and others as time
// goes on.
#include <cstdint>
#include <random>
#include <vector>

namespace tessera::testing {

class RawIds {
 public:
  explicit RawIds(uint64_t seed) : random_(seed) {}

  // Up to `most` ids a feature; `epoch` moves the popular ones.
  std::vector<std::vector<int64_t>> Batch(size_t features, int64_t most, int64_t epoch) {
    std::vector<std::vector<int64_t>> batch(features);
    for (std::vector<int64_t>& ids : batch) {
      const auto n = static_cast<size_t>(Below(most + 1));
      while (ids.size() < n) ids.push_back(Next(epoch));
    }
    return batch;
  }

  int64_t Below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

 private:
  int64_t Next(int64_t epoch) {
    if (Below(200) == 0)
      return std::vector<int64_t>{-1, 0, INT64_MAX, INT64_MIN}[static_cast<size_t>(Below(4))];
    const double u = std::uniform_real_distribution<double>(0, 1)(random_);
    const auto rank = static_cast<int64_t>(60 * u * u * u) + epoch;
    return static_cast<int64_t>(static_cast<uint64_t>(rank) * 0x9e3779b97f4a7c15ull);
  }

  std::mt19937_64 random_;
};

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_EMBEDDING_MANAGED_COLLISION_RAW_IDS_H_
