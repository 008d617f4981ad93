#ifndef TESSERA_BENCH_HARNESS_RESULT_TABLE_H_
#define TESSERA_BENCH_HARNESS_RESULT_TABLE_H_
// Measurements as lines for people, one as soon as it is there:
//
//   case            threads  contender      time  spread   GB/s  M ids/s  of limit
//   D128_zipf1.05         1  tessera    23.41 ms     3 %  15.43    27.90      92 %
//
// and, of rows with a score (measurement.h), what it is and its share of the best possible.
//
// A '!' after a spread: too noisy for its median to be trusted.
#include <string>
#include <vector>

#include "bench/harness/measurement.h"
#include "bench/harness/point.h"

namespace tessera::bench {

// Three or four digits and a unit: "23.41 ms", "812 ns".
std::string SecondsText(double seconds);

class ResultTable {
 public:
  // points: those that will be measured; their labels say how wide the first column is.
  explicit ResultTable(const std::vector<Point>& points);

  // The heading before the first row, then a line a measurement.
  std::string Lines(const std::vector<Measurement>& rows);
  // Returns the text below the table of rows whose spread is above kNoisySpread; "" if there are
  // none.
  static std::string NoiseWarning(const std::vector<Measurement>& rows);

 private:
  std::string Line(const std::vector<std::string>& cells) const;

  size_t case_width_;
  std::string item_;  // of the heading that was printed last
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_HARNESS_RESULT_TABLE_H_
