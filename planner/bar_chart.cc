#include "planner/bar_chart.h"

#include <algorithm>

#include "runtime/base/check.h"
#include "runtime/base/report_text.h"

namespace tessera::internal {
namespace {

constexpr int kWidth = 960, kHeight = 220, kLeft = 70, kBottom = 24, kTop = 12;

size_t BarsOf(const BarChart& chart) { return chart.layers.front().values.size(); }

double SumOf(const BarChart& chart, size_t bar) {
  double sum = 0;
  for (const BarLayer& layer : chart.layers) sum += layer.values[bar];
  return sum;
}

double LargestBar(const BarChart& chart) {
  double largest = 0;
  for (size_t b = 0; b < BarsOf(chart); ++b) largest = std::max(largest, SumOf(chart, b));
  return largest;
}

// A line far above the bars is not drawn, but given in the text.
bool ShowsLine(const BarChart& chart) {
  return chart.line > 0 && chart.line <= 4 * LargestBar(chart);
}

double TopOf(const BarChart& chart) {
  const double top = std::max(LargestBar(chart), ShowsLine(chart) ? chart.line : 0);
  return top > 0 ? top : 1;
}

// Keeps the bar with the largest sum of each run of bars.
BarChart Thinned(BarChart chart, size_t most) {
  const size_t bars = BarsOf(chart);
  if (bars <= most) return chart;
  const size_t run = (bars + most - 1) / most;
  std::vector<std::vector<double>> kept(chart.layers.size());
  for (size_t begin = 0; begin < bars; begin += run) {
    size_t largest = begin;
    for (size_t b = begin; b < std::min(bars, begin + run); ++b)
      if (SumOf(chart, b) > SumOf(chart, largest)) largest = b;
    for (size_t l = 0; l < kept.size(); ++l) kept[l].push_back(chart.layers[l].values[largest]);
  }
  for (size_t l = 0; l < kept.size(); ++l) chart.layers[l].values = std::move(kept[l]);
  return chart;
}

std::string Legend(const BarChart& chart) {
  std::string html = "<p class=legend>";
  for (const BarLayer& layer : chart.layers)
    html += Format("<span style=\"background:{}\"></span>{} ", layer.color, MarkupText(layer.name));
  if (chart.line > 0)
    html += Format("<span class=line></span>{} ({:.4g} {})", MarkupText(chart.line_name),
                   chart.line, chart.unit);
  return html + "</p>\n";
}

std::string NumberText(double number) {
  return number < 1e4 ? Format("{:.4g}", number) : WithCommas(number);
}

// A bar's name and those of its layers that have a height.
std::string BarText(const BarChart& chart, size_t bar) {
  std::string text = chart.bars[bar];
  for (const BarLayer& layer : chart.layers)
    if (layer.values[bar] > 0)
      text += Format("\n{}: {} {}", layer.name, NumberText(layer.values[bar]), chart.unit);
  return text;
}

std::string DrawBars(const BarChart& chart, double scale) {
  const double width = static_cast<double>(kWidth - kLeft) / static_cast<double>(BarsOf(chart));
  std::string svg;
  for (size_t b = 0; b < BarsOf(chart); ++b) {
    svg += "<g>";
    if (BarsOf(chart) == chart.bars.size())
      svg += "<title>" + MarkupText(BarText(chart, b)) + "</title>";
    double y = kTop + kHeight;
    for (const BarLayer& layer : chart.layers) {
      const double height = layer.values[b] * scale;
      if (height <= 0) continue;
      y -= height;
      svg +=
          Format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>",
                 kLeft + width * static_cast<double>(b) + 0.1 * width, y, 0.8 * width, height,
                 layer.color);
    }
    svg += "</g>\n";
  }
  return svg;
}

std::string DrawAxis(const BarChart& chart, double top, double scale) {
  std::string svg;
  for (int tick = 0; tick <= 4; ++tick) {
    const double value = top * tick / 4, y = kTop + kHeight - value * scale;
    svg += Format(
        "<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" class=grid></line>"
        "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:.3g}</text>\n",
        kLeft, kWidth, y, y, kLeft - 6, y + 4, value);
  }
  if (ShowsLine(chart))
    svg +=
        Format("<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" class=limit></line>\n", kLeft,
               kWidth, kTop + kHeight - chart.line * scale, kTop + kHeight - chart.line * scale);
  return svg;
}

std::string DrawText(double x, const char* anchor, const std::string& text) {
  return Format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"{}\">{}</text>\n", x,
                kTop + kHeight + 18, anchor, MarkupText(text));
}

std::string DrawNames(const BarChart& chart) {
  if (chart.marks.size() != BarsOf(chart))
    return DrawText(kLeft, "start", chart.bars.front()) +
           DrawText(kWidth, "end", chart.bars.back());
  const double width = static_cast<double>(kWidth - kLeft) / static_cast<double>(BarsOf(chart));
  std::string svg;
  for (size_t b = 0; b < chart.marks.size(); ++b)
    svg += DrawText(kLeft + width * (static_cast<double>(b) + 0.5), "middle", chart.marks[b]);
  return svg;
}

constexpr char kStyle[] =
    "body{font:14px sans-serif;max-width:1000px;margin:2em auto;padding:0 1em;color:#222;"
    "background:#fff}"
    "svg{width:100%}text{font:11px sans-serif;fill:#555}.grid{stroke:#ddd}"
    ".limit{stroke:#c00;stroke-dasharray:6 4}"
    ".legend span{display:inline-block;width:1em;height:.8em;margin:0 .4em 0 1em}"
    ".legend .line{height:0;border-top:2px dashed #c00;vertical-align:middle}"
    "table{border-collapse:collapse}td,th{border-bottom:1px solid #ddd;padding:.2em .8em;"
    "text-align:left}";

}  // namespace

std::string DrawChart(const BarChart& whole, int most) {
  const BarChart chart = Thinned(whole, static_cast<size_t>(most));
  const double top = TopOf(chart), scale = kHeight / top;
  return Format("<h2>{}, {}</h2>\n", MarkupText(chart.title), MarkupText(chart.unit)) +
         Legend(chart) +
         Format("<svg viewBox=\"0 0 {} {}\" role=\"img\">\n", kWidth, kTop + kHeight + kBottom) +
         DrawAxis(chart, top, scale) + DrawNames(chart) + DrawBars(chart, scale) + "</svg>\n";
}

std::string HtmlPage(const std::string& title, const std::string& body) {
  return Format(
             "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8><title>{}</title>"
             "<style>{}</style></head><body>\n<h1>{}</h1>\n",
             MarkupText(title), kStyle, MarkupText(title)) +
         body + "</body></html>\n";
}

}  // namespace tessera::internal
