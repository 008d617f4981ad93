#ifndef TESSERA_DATA_EVEN_SAMPLE_H_
#define TESSERA_DATA_EVEN_SAMPLE_H_
// An even sample of a series of values: every stride-th one, where the stride doubles when kMaxKept
// are kept. Samples of series of one length keep the same places.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera {

template <typename T, int64_t kMaxKept>
class EvenSample {
 public:
  void Add(T value) {
    if (count_++ % stride_ != 0) return;
    kept_.push_back(value);
    if (std::ssize(kept_) < kMaxKept) return;
    for (size_t i = 0; i < kept_.size() / 2; ++i) kept_[i] = kept_[2 * i];
    kept_.resize(kept_.size() / 2);
    stride_ *= 2;
  }

  int64_t count() const { return count_; }
  const std::vector<T>& kept() const { return kept_; }

 private:
  int64_t count_ = 0, stride_ = 1;
  std::vector<T> kept_;
};

}  // namespace tessera
#endif  // TESSERA_DATA_EVEN_SAMPLE_H_
