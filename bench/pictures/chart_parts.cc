#include "bench/pictures/chart_parts.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

// 1, 2 or 5 times a power of ten, not below `least`.
double RoundStep(double least) {
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

std::vector<double> LogTicks(double low, double high, int count) {
  const bool between = std::log10(high / low) * 2 < count;
  std::vector<double> ticks;
  for (double power = std::pow(10, std::floor(std::log10(low))); power <= high; power *= 10)
    for (const double factor : {1.0, 2.0, 5.0})
      if ((between || factor == 1) && factor * power >= low * (1 - 1e-9) &&
          factor * power <= high * (1 + 1e-9))
        ticks.push_back(factor * power);
  return ticks;
}

}  // namespace

double ChartAxis::At(double number) const {
  const double part =
      logarithmic ? std::log(number / low) / std::log(high / low) : (number - low) / (high - low);
  return begin + (end - begin) * part;
}

std::vector<double> ChartAxis::Ticks(int count) const {
  if (logarithmic) return LogTicks(low, high, count);
  const double step = RoundStep((high - low) / count);
  std::vector<double> ticks;
  for (double i = std::ceil(low / step - 1e-9) + 0.0; i * step <= high * (1 + 1e-9); ++i)
    ticks.push_back(i * step);
  return ticks;
}

std::string ShortNumber(double number) {
  constexpr const char* kUnits[] = {"", "k", "M", "G", "T"};
  int unit = 0;
  for (; std::abs(number) >= 999.5 && unit < 4; ++unit) number /= 1000;
  return Format("{:.3g}{}", number, kUnits[unit]);
}

TimeUnit TimeUnitFor(double seconds) {
  if (seconds < 1e-6) return {"ns", 1e9};
  if (seconds < 1e-3) return {"us", 1e6};
  return seconds < 1 ? TimeUnit{"ms", 1e3} : TimeUnit{"s", 1};
}

double DrawHead(SvgCanvas& canvas, const BenchRun& run, const std::string& what) {
  const double room = canvas.width() - 2 * kChartMargin;
  canvas.Text(kChartMargin, 32, FittedText(Format("{}: {}", run.topic, what), room, 17), "title");
  std::string note = run.machine;
  if (!run.date.empty()) note += (note.empty() ? "" : " · ") + run.date;
  if (run.rounds > 1)
    note += Format(" · medians of {} rounds, {} caches", run.RoundsText(), run.CachesText());
  canvas.Text(kChartMargin, 50, FittedText(note, room, 11), "note");
  return 62;
}

double DrawLegend(SvgCanvas& canvas, double y, const std::vector<LegendEntry>& entries) {
  constexpr double kLine = 20, kMark = 12, kGap = 18;
  double x = kChartMargin;
  y += 14;
  for (const LegendEntry& entry : entries) {
    const double mark = entry.line ? 2 * kMark : kMark;
    const std::string name =
        FittedText(entry.name, canvas.width() - 2 * kChartMargin - mark - 6, 12);
    const double width = mark + 6 + TextWidth(name, 12) + kGap;
    if (x > kChartMargin && x + width - kGap > canvas.width() - kChartMargin) {
      x = kChartMargin;
      y += kLine;
    }
    if (entry.line)
      canvas.Line(x, y - 4, x + mark, y - 4, entry.css);
    else
      canvas.Rect(x, y - 10, mark, kMark, entry.css);
    canvas.Text(x + mark + 6, y, name, "label");
    x += width;
  }
  return y + 10;
}

size_t IndexIn(std::vector<std::string>& list, const std::string& value) {
  const auto found = std::find(list.begin(), list.end(), value);
  if (found != list.end()) return static_cast<size_t>(found - list.begin());
  list.push_back(value);
  return list.size() - 1;
}

std::string SeriesClass(char kind, size_t series) {
  return Format("{}{}", kind, series % kSeriesColors);
}

}  // namespace tessera::bench
