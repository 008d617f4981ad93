#ifndef TESSERA_BENCH_PICTURES_CHART_PARTS_H_
#define TESSERA_BENCH_PICTURES_CHART_PARTS_H_
// Parts that pictures of runs share: the head, the legend, and axes.
#include <string>
#include <vector>

#include "bench/harness/measurement.h"
#include "bench/pictures/svg_canvas.h"

namespace tessera::bench {

inline constexpr double kChartWidth = 880, kChartMargin = 20;

// Numbers to places of a picture. A logarithmic axis takes numbers above 0 only.
struct ChartAxis {
  double low = 0, high = 1;     // numbers
  double begin = 0, end = 100;  // their places
  bool logarithmic = false;

  double At(double number) const;
  // About `count` round numbers within [low, high]; powers of ten with 2 and 5 between where there
  // is room on a logarithmic axis.
  std::vector<double> Ticks(int count) const;
};

// "1500000" as "1.5M", "0.25" as it is.
std::string ShortNumber(double number);

// The unit that seconds are best shown in.
struct TimeUnit {
  const char* name;  // "us"
  double per_second;
};
TimeUnit TimeUnitFor(double seconds);

struct LegendEntry {
  std::string css, name;
  bool line = false;  // a stroke instead of a square
};

// Draws the facts of `run`: topic, rounds, caches, machine, date. Returns where the next part may
// begin.
double DrawHead(SvgCanvas& canvas, const BenchRun& run, const std::string& what);
// In lines as wide as the picture; returns where the next part may begin.
double DrawLegend(SvgCanvas& canvas, double y, const std::vector<LegendEntry>& entries);

// `value` if it is not there yet; where it stands in `list`.
size_t IndexIn(std::vector<std::string>& list, const std::string& value);
// "s3": the class of a series, or "l3".
std::string SeriesClass(char kind, size_t series);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_PICTURES_CHART_PARTS_H_
