#ifndef TESSERA_DATA_EVEN_SAMPLE_H_
#define TESSERA_DATA_EVEN_SAMPLE_H_
// An even sample of a series of values: those whose places have the smallest hashes, so that no
// pattern in the series decides which ones are kept. When kMaxKept are kept, the half with the
// smaller hashes stays. Values keep their order, and samples of series of one length have the same
// places.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/base/hash.h"

namespace tessera {

template <typename T, int64_t kMaxKept>
class EvenSample {
 public:
  void Add(T value) {
    const auto place = static_cast<uint64_t>(++count_);
    const uint64_t hash = internal::MixedBits(place * internal::kGoldenRatio);
    if (hash > most_) return;
    kept_.push_back(value);
    hashes_.push_back(hash);
    if (std::ssize(kept_) == kMaxKept) Halve();
  }

  int64_t count() const { return count_; }
  const std::vector<T>& kept() const { return kept_; }

 private:
  void Halve() {
    std::vector<uint64_t> hashes = hashes_;  // distinct ones, because the mix is a bijection
    const auto last = hashes.begin() + kMaxKept / 2 - 1;
    std::nth_element(hashes.begin(), last, hashes.end());
    most_ = *last;
    size_t next = 0;
    for (size_t i = 0; i < kept_.size(); ++i) {
      if (hashes_[i] > most_) continue;
      kept_[next] = kept_[i];
      hashes_[next++] = hashes_[i];
    }
    kept_.resize(next);
    hashes_.resize(next);
  }

  int64_t count_ = 0;
  uint64_t most_ = std::numeric_limits<uint64_t>::max();  // of the hashes that are kept
  std::vector<T> kept_;
  std::vector<uint64_t> hashes_;  // of kept_'s places
};

}  // namespace tessera
#endif  // TESSERA_DATA_EVEN_SAMPLE_H_
