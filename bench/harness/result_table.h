#ifndef TESSERA_BENCH_HARNESS_RESULT_TABLE_H_
#define TESSERA_BENCH_HARNESS_RESULT_TABLE_H_
// Measurements as lines for people, at most 100 columns wide, one as soon as it is there:
//
//   All rows: rows=1M, tables=8; 1 thread
//   case    contender      min       p50      p90      p99    GB/s   ids/s  of limit
//   dim=64  tessera    23.3 ms   23.4 ms  23.5 ms  23.6 ms   15.43  27.9 M      92 %
//
// The table's heading says what all cases have in common; where cases are too long for a column,
// each has a line of its own. Rows with a score (measurement.h) show their median alone, then the
// score and its share of the best possible.
//
// A '!' after a median: too noisy to be trusted. A '*' after a share: above 100 %.
#include <string>
#include <vector>

#include "bench/harness/case_parts.h"
#include "bench/harness/measurement.h"
#include "bench/harness/point.h"

namespace tessera::bench {

// Three or four digits and a unit: "23.41 ms", "812 ns".
std::string SecondsText(double seconds);

class ResultTable {
 public:
  // points: those that will be measured. details: below each row its facts (row_details.h).
  explicit ResultTable(const std::vector<Point>& points, bool details = false);

  // The heading before the first row, then a line a measurement.
  std::string Lines(const std::vector<Measurement>& rows);
  // Returns the text below the table: how many rows spread by more than kNoisySpread, and what a
  // share above 100 % means where there is one; "" where neither is so.
  static std::string Warnings(const std::vector<Measurement>& rows);

 private:
  struct Column {
    std::string heading, cell;
    size_t width;
  };
  std::vector<Column> ColumnsOf(const Measurement& row) const;
  void FitWidths(const std::vector<Measurement>& rows);
  std::string Line(const std::string& case_name, int threads, const std::string& contender,
                   const std::vector<Column>& columns, bool heading) const;
  bool details_;
  CaseParts parts_;
  std::string threads_;  // of all points; "": they differ
  size_t case_width_ = 0, contender_width_ = 0;
  bool own_lines_ = false;        // of cases
  std::string item_, last_case_;  // of the heading, and of the row, that was printed last
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_HARNESS_RESULT_TABLE_H_
