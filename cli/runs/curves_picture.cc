#include "cli/runs/curves_picture.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "bench/pictures/chart_parts.h"
#include "bench/pictures/svg_canvas.h"
#include "runtime/base/check.h"
#include "runtime/base/report_text.h"

namespace tessera::cli {
namespace {

using bench::SeriesClass;
using Points = std::vector<std::pair<double, double>>;  // epochs, value

constexpr double kHeight = 320, kLeft = 70;

// Points whose place in their epoch nobody knows are left out.
Points PointsOf(const RunComparison& comparison, const ComparedRun& compared) {
  Points points;
  for (const CurvePoint& point : compared.run.curve)
    if (const double value = compared.run.Value(point, comparison.metric); std::isfinite(value))
      if (point.fraction) points.emplace_back(point.epochs(), value);
  return points;
}

class CurvesDrawing {
 public:
  explicit CurvesDrawing(const RunComparison& comparison)
      : comparison_(comparison), canvas_(bench::kChartWidth) {
    double low = std::numeric_limits<double>::infinity(), high = -low, epochs = 0;
    for (const ComparedRun& compared : comparison.runs) {
      curves_.push_back(PointsOf(comparison, compared));
      for (const auto& [epoch, value] : curves_.back()) {
        low = std::min(low, value);
        high = std::max(high, value);
        epochs = std::max(epochs, epoch);
      }
    }
    const double room = high > low ? 0.05 * (high - low) : std::max(1e-3, std::abs(high) * 0.05);
    x_ = {0, epochs, kLeft, bench::kChartWidth - bench::kChartMargin - 12};
    y_ = {.low = low - room, .high = high + room};
  }

  std::string Draw() {
    const std::string title = comparison_.metric + " by epochs";
    canvas_.Text(bench::kChartMargin, 32, title, "title");
    const double top = bench::DrawLegend(canvas_, 44, Legend()) + 16;
    y_.begin = top + kHeight;
    y_.end = top;
    DrawGrid(top);
    for (size_t r = 0; r < curves_.size(); ++r) DrawCurve(r);
    return canvas_.Finish(y_.begin + 48, title);
  }

 private:
  std::vector<bench::LegendEntry> Legend() const {
    std::vector<bench::LegendEntry> entries;
    for (size_t g = 0; g < comparison_.groups.size(); ++g) {
      const std::string settings = SettingsText(comparison_, comparison_.groups[g]);
      entries.push_back(
          {SeriesClass('s', g), Format("{}{}{}", g + 1, settings.empty() ? "" : ": ", settings)});
    }
    return entries;
  }

  void DrawGrid(double top) {
    for (const double tick : y_.Ticks(6)) {
      canvas_.Line(x_.begin, y_.At(tick), x_.end, y_.At(tick), "grid");
      canvas_.Text(x_.begin - 8, y_.At(tick) + 4, Format("{:.6g}", tick), "note",
                   bench::Anchor::kEnd);
    }
    for (const double tick : x_.Ticks(8)) {
      canvas_.Line(x_.At(tick), top, x_.At(tick), y_.begin, tick > 0 ? "grid" : "axis");
      canvas_.Text(x_.At(tick), y_.begin + 16, Format("{:.4g}", tick), "note",
                   bench::Anchor::kMiddle);
    }
    canvas_.Text((x_.begin + x_.end) / 2, y_.begin + 34, "epochs", "label", bench::Anchor::kMiddle);
  }

  void DrawCurve(size_t run) {
    const size_t group = comparison_.runs[run].group;
    Points places;
    for (const auto& [epoch, value] : curves_[run]) places.emplace_back(x_.At(epoch), y_.At(value));
    if (places.size() > 1) canvas_.Path(places, SeriesClass('l', group));
    for (const auto& [x, y] : places) canvas_.Circle(x, y, 2.5, SeriesClass('s', group));
  }

  const RunComparison& comparison_;
  std::vector<Points> curves_;  // of runs
  bench::SvgCanvas canvas_;
  bench::ChartAxis x_, y_;
};

std::string HtmlTable(const std::vector<std::vector<std::string>>& rows) {
  std::string html = "<table>\n";
  for (size_t r = 0; r < rows.size(); ++r) {
    html += "<tr>";
    for (const std::string& cell : rows[r])
      html += (r == 0 ? "<th>" : "<td>") + internal::MarkupText(cell);
    html += "</tr>\n";
  }
  return html + "</table>\n";
}

constexpr char kStyle[] =
    "body{font:14px sans-serif;max-width:1000px;margin:2em auto;padding:0 1em;color:#222;"
    "background:#fff}table{border-collapse:collapse;margin:1em 0}"
    "td,th{border-bottom:1px solid #ddd;padding:.2em .8em;text-align:left}";

}  // namespace

bool HasCurve(const RunComparison& comparison) {
  return std::ranges::any_of(comparison.runs, [&](const ComparedRun& compared) {
    return PointsOf(comparison, compared).size() > 1;
  });
}

std::string CurvesSvg(const RunComparison& comparison) {
  if (!HasCurve(comparison))
    throw Error(
        Format("{}: no run has two values of it, so there is no curve to draw", comparison.metric));
  return CurvesDrawing(comparison).Draw();
}

std::string CurvesPage(const RunComparison& comparison) {
  std::string notes;
  for (const std::string& note : ComparisonNotes(comparison))
    notes += "<p>" + internal::MarkupText(note) + "</p>\n";
  return Format(
             "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8><title>runs</title>"
             "<style>{}</style></head><body>\n<h1>Runs</h1>\n",
             kStyle) +
         (HasCurve(comparison) ? CurvesSvg(comparison) : std::string()) +
         "<h2>Runs, the best first</h2>\n" + HtmlTable(RunRows(comparison)) +
         "<h2>Means over seeds, and what differs</h2>\n" + HtmlTable(GroupRows(comparison)) +
         notes + "</body></html>\n";
}

}  // namespace tessera::cli
