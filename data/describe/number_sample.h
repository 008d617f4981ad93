#ifndef TESSERA_DATA_DESCRIBE_NUMBER_SAMPLE_H_
#define TESSERA_DATA_DESCRIBE_NUMBER_SAMPLE_H_
// Least, greatest and mean of a series of numbers, and an even sample of it.
#include <cstdint>
#include <limits>
#include <vector>

#include "data/even_sample.h"

namespace tessera {

class NumberSample {
 public:
  static constexpr int64_t kMaxKept = 4096;

  void Add(double number);

  int64_t count() const { return sample_.count(); }
  double least() const { return least_; }
  double greatest() const { return greatest_; }
  double mean() const { return count() == 0 ? 0 : sum_ / static_cast<double>(count()); }
  const std::vector<double>& kept() const { return sample_.kept(); }

  struct MeanAndDeviation {
    double mean = 0, deviation = 0;
  };
  // Mean and standard deviation of the kept numbers without the lowest and the highest hundredth,
  // so that a few far ones do not decide; of all of them where those left are all the same.
  MeanAndDeviation Typical() const;
  // How many of the kept numbers lie in each of `buckets` equal parts of [least, greatest].
  std::vector<int64_t> Histogram(int buckets) const;

 private:
  double sum_ = 0;
  double least_ = std::numeric_limits<double>::infinity();
  double greatest_ = -std::numeric_limits<double>::infinity();
  EvenSample<double, kMaxKept> sample_;
};

}  // namespace tessera
#endif  // TESSERA_DATA_DESCRIBE_NUMBER_SAMPLE_H_
