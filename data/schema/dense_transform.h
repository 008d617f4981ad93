#ifndef TESSERA_DATA_SCHEMA_DENSE_TRANSFORM_H_
#define TESSERA_DATA_SCHEMA_DENSE_TRANSFORM_H_
// Transforms the numbers of a row. Missing ones are 0 before.
//
//   log1p          log(1 + max(x, 0)), what a BatchBuilder makes of text
//   log+C          log(x + C), C an integer; TorchRec's first tsv_to_npys is log+3
//   log_from_min   log(x - m + 2), m the smallest number of the file; TorchRec's since 2022
//   as_is          x
#include <cstdint>
#include <string>

namespace tessera {

struct DenseTransform {
  enum class Kind { kLog1p, kLogPlus, kLogFromMin, kAsIs };
  Kind kind = Kind::kLog1p;
  int64_t shift = 0;  // C

  // `smallest`: m. Where a number has no logarithm, NaN.
  double Apply(double x, double smallest = 0) const;
  float operator()(double x, double smallest) const {
    return static_cast<float>(Apply(x, smallest));
  }
  friend bool operator==(const DenseTransform&, const DenseTransform&) = default;
};

// Parses a name listed above. Throws Error that lists the names.
DenseTransform ParseDenseTransform(const std::string& name);
std::string ToString(const DenseTransform& transform);

}  // namespace tessera
#endif  // TESSERA_DATA_SCHEMA_DENSE_TRANSFORM_H_
