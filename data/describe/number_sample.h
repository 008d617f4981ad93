#ifndef TESSERA_DATA_DESCRIBE_NUMBER_SAMPLE_H_
#define TESSERA_DATA_DESCRIBE_NUMBER_SAMPLE_H_
// Least, greatest and mean of a series of numbers, and an even sample of it for pictures: every
// stride-th number, where the stride doubles when kMost are kept.
#include <cstdint>
#include <limits>
#include <vector>

namespace tessera {

class NumberSample {
 public:
  static constexpr int64_t kMost = 4096;

  void Add(double number);

  int64_t count() const { return count_; }
  double least() const { return least_; }
  double greatest() const { return greatest_; }
  double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  const std::vector<double>& kept() const { return kept_; }
  // How many of the kept numbers lie in each of `buckets` equal parts of [least, greatest].
  std::vector<int64_t> Histogram(int buckets) const;

 private:
  int64_t count_ = 0, stride_ = 1;
  double sum_ = 0;
  double least_ = std::numeric_limits<double>::infinity();
  double greatest_ = -std::numeric_limits<double>::infinity();
  std::vector<double> kept_;
};

}  // namespace tessera
#endif  // TESSERA_DATA_DESCRIBE_NUMBER_SAMPLE_H_
