#include "bench/pictures/compare_svg.h"

#include <algorithm>
#include <cmath>

#include "bench/harness/compare.h"
#include "bench/pictures/chart_parts.h"
#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

constexpr double kLine = 18, kLabelRoom = 360, kValueRoom = 160, kLeastSpan = 1.05;

// The color of each verdict.
size_t SeriesOf(Verdict verdict) {
  constexpr size_t kSeries[] = {2, 5, 0, 7, 7};  // green, red, blue, grey, grey
  return kSeries[static_cast<int>(verdict)];
}

// The ends of what is drawn of a row: its interval, or, where that has no bounds, its estimate.
double LowOf(const RowChange& row) { return row.speed_low > 0 ? row.speed_low : row.speed; }
double HighOf(const RowChange& row) {
  return std::isfinite(row.speed_high) ? row.speed_high : row.speed;
}

// From 1 as far down as up.
ChartAxis AxisOf(const std::vector<RowChange>& rows) {
  double span = kLeastSpan;
  for (const RowChange& row : rows) span = std::max({span, HighOf(row), 1 / LowOf(row)});
  return {.low = 1 / span,
          .high = span,
          .begin = kChartMargin + kLabelRoom + 8,
          .end = kChartWidth - kChartMargin - kValueRoom,
          .logarithmic = true};
}

double DrawVerdicts(SvgCanvas& canvas, double y) {
  std::vector<LegendEntry> entries;
  for (const Verdict verdict :
       {Verdict::kFaster, Verdict::kSlower, Verdict::kSame, Verdict::kUnclear})
    entries.push_back({SeriesClass('s', SeriesOf(verdict)), verdict == Verdict::kUnclear
                                                                ? "unclear, or too few rounds"
                                                                : ToString(verdict)});
  return DrawLegend(canvas, y, entries);
}

void DrawGrid(SvgCanvas& canvas, const ChartAxis& axis, double top, double bottom) {
  const ChartAxis linear{.low = axis.low, .high = axis.high};
  for (const double tick : linear.Ticks(5)) {
    const double x = axis.At(tick);
    canvas.Line(x, top, x, bottom, "grid");
    canvas.Text(x, bottom + 14, Format("{:.3g}x", tick), "note", Anchor::kMiddle);
  }
  canvas.Line(axis.At(1), top - 4, axis.At(1), bottom, "limit");
}

void DrawRow(SvgCanvas& canvas, const ChartAxis& axis, const RowChange& row, double y) {
  const size_t series = SeriesOf(row.verdict);
  canvas.Text(axis.begin - 8, y + 4, FittedText(row.name + " " + row.contender, kLabelRoom, 12),
              "label", Anchor::kEnd);
  canvas.Line(axis.At(LowOf(row)), y, axis.At(HighOf(row)), y, SeriesClass('l', series));
  canvas.Circle(axis.At(row.speed), y, 3.5, SeriesClass('s', series));
  canvas.Text(kChartWidth - kChartMargin - kValueRoom + 8, y + 4,
              Format("{:.3f}x · {}", row.speed, ToString(row.verdict)), "value");
}

}  // namespace

std::string ComparisonSvg(const BenchRun& old_run, const BenchRun& new_run) {
  const std::vector<RowChange> rows = CompareRuns(old_run, new_run).rows;
  if (rows.empty())
    throw Error(Format("{}: the runs have no row in common to draw", new_run.topic));
  const std::string what = Format("speed since {}, new / old", old_run.date);
  SvgCanvas canvas(kChartWidth);
  const double top = DrawVerdicts(canvas, DrawHead(canvas, new_run, what)) + 16;
  const double bottom = top + kLine * static_cast<double>(rows.size());
  const ChartAxis axis = AxisOf(rows);
  DrawGrid(canvas, axis, top, bottom);
  for (size_t i = 0; i < rows.size(); ++i)
    DrawRow(canvas, axis, rows[i], top + kLine * (static_cast<double>(i) + 0.5));
  return canvas.Finish(bottom + 32, Format("{}: {}", new_run.topic, what));
}

}  // namespace tessera::bench
