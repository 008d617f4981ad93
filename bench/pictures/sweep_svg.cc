#include "bench/pictures/sweep_svg.h"

#include <algorithm>

#include "bench/pictures/bars_svg.h"
#include "bench/pictures/chart_parts.h"
#include "bench/pictures/sweep_lines.h"
#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

constexpr double kSweepHeight = 300, kSweepLeft = 70, kLogSpan = 10, kTickRoom = 44;

enum class SweepQuantity { kBytes, kItems, kTime };

SweepQuantity QuantityOf(const BenchRun& run) {
  const auto all = [&](auto has) { return std::all_of(run.rows.begin(), run.rows.end(), has); };
  if (all([](const Measurement& r) { return r.bytes > 0; })) return SweepQuantity::kBytes;
  if (all([](const Measurement& r) { return r.items > 0; })) return SweepQuantity::kItems;
  return SweepQuantity::kTime;
}

double ValueOf(SweepQuantity quantity, const Measurement& row, double seconds) {
  if (quantity == SweepQuantity::kBytes) return row.bytes / seconds / 1e9;
  return quantity == SweepQuantity::kItems ? static_cast<double>(row.items) / seconds : seconds;
}

double LimitOf(SweepQuantity quantity, const Measurement& row) {
  return ValueOf(quantity, row, row.LimitMedian());
}

class SweepDrawing {
 public:
  SweepDrawing(const BenchRun& run, const SweepLines& sweep)
      : run_(run), sweep_(sweep), quantity_(QuantityOf(run)), canvas_(kChartWidth) {
    x_ = {.low = sweep.lines[0].points.front().x,
          .high = sweep.lines[0].points.back().x,
          .begin = kSweepLeft,
          .end = kChartWidth - kChartMargin - 12};
    x_.logarithmic = x_.low > 0 && x_.high > kLogSpan * x_.low;
    SetUpY();
  }

  std::string Draw() {
    const std::string what = Format("{} by {}", YName(), sweep_.x_axis);
    const double top = DrawLegend(canvas_, DrawHead(canvas_, run_, what), Legend()) + 24;
    y_.begin = top + kSweepHeight;
    y_.end = top;
    canvas_.Text(kChartMargin, top - 10, YName(), "note");
    DrawGrid(top);
    for (size_t i = 0; i < sweep_.lines.size(); ++i) DrawLine(sweep_.lines[i], i);
    return canvas_.Finish(y_.begin + 48, Format("{}: {}", run_.topic, what));
  }

 private:
  void SetUpY() {
    double low = 0;
    y_.high = 0;
    for (const Measurement& row : run_.rows) {
      const double value = ValueOf(quantity_, row, row.Median());
      const double limit = row.HasLimit() ? LimitOf(quantity_, row) : value;
      low = low == 0 ? std::min(value, limit) : std::min({low, value, limit});
      y_.high = std::max({y_.high, value, limit});
      has_limit_ |= row.HasLimit();
    }
    y_.logarithmic = quantity_ == SweepQuantity::kTime && y_.high > kLogSpan * low;
    if (y_.logarithmic) y_.low = low / 1.2;
    y_.high *= y_.logarithmic ? 1.2 : 1.05;
  }

  std::string YName() const {
    if (quantity_ == SweepQuantity::kBytes) return "GB/s";
    return quantity_ == SweepQuantity::kItems ? run_.rows[0].item + " a second" : "time of a call";
  }

  std::vector<LegendEntry> Legend() const {
    std::vector<LegendEntry> entries;
    for (size_t i = 0; i < sweep_.lines.size(); ++i)
      entries.push_back({SeriesClass('s', i), sweep_.lines[i].name});
    if (has_limit_) entries.push_back({"axis dashed", "limit, in the color of its line", true});
    return entries;
  }

  void DrawGrid(double top) {
    const TimeUnit unit = TimeUnitFor(y_.high);
    ChartAxis shown = y_;
    if (quantity_ == SweepQuantity::kTime) {
      shown.low *= unit.per_second;
      shown.high *= unit.per_second;
    }
    for (const double tick : shown.Ticks(6)) {
      const double y = shown.At(tick);
      canvas_.Line(x_.begin, y, x_.end, y, tick > 0 ? "grid" : "axis");
      canvas_.Text(x_.begin - 8, y + 4,
                   quantity_ == SweepQuantity::kTime ? Format("{:.3g} {}", tick, unit.name)
                                                     : ShortNumber(tick),
                   "note", Anchor::kEnd);
    }
    DrawXTicks(top);
  }

  // At the values themselves, as far as their names don't touch.
  void DrawXTicks(double top) {
    double last = x_.begin - 2 * kTickRoom;
    for (const SweepPoint& point : sweep_.lines[0].points) {
      const double x = x_.At(point.x);
      canvas_.Line(x, top, x, y_.begin, "grid");
      if (x - last < std::max(kTickRoom, TextWidth(point.x_text, 11) + 8)) continue;
      canvas_.Text(x, y_.begin + 16, point.x_text, "note", Anchor::kMiddle);
      last = x;
    }
    canvas_.Text((x_.begin + x_.end) / 2, y_.begin + 34, sweep_.x_axis, "label", Anchor::kMiddle);
  }

  void DrawLine(const SweepLine& line, size_t series) {
    std::vector<std::pair<double, double>> values, limits;
    for (const SweepPoint& point : line.points) {
      const double x = x_.At(point.x);
      values.emplace_back(x, y_.At(ValueOf(quantity_, *point.row, point.row->Median())));
      if (point.row->HasLimit()) limits.emplace_back(x, y_.At(LimitOf(quantity_, *point.row)));
    }
    if (limits.size() > 1) canvas_.Path(limits, SeriesClass('l', series) + " dashed");
    canvas_.Path(values, SeriesClass('l', series));
    for (const auto& [x, y] : values) canvas_.Circle(x, y, 3.5, SeriesClass('s', series));
  }

  const BenchRun& run_;
  const SweepLines& sweep_;
  SweepQuantity quantity_;
  SvgCanvas canvas_;
  ChartAxis x_, y_;
  bool has_limit_ = false;
};

}  // namespace

bool IsSweep(const BenchRun& run) { return TakeApart(run).has_value(); }

std::string SweepSvg(const BenchRun& run) {
  const std::optional<SweepLines> sweep = TakeApart(run);
  TESSERA_CHECK(sweep.has_value(), "{}: its rows are no sweep over an axis of numbers", run.topic);
  return SweepDrawing(run, *sweep).Draw();
}

std::string RunToSvg(const BenchRun& run) {
  if (run.rows.empty()) throw Error(Format("{}: there are no rows to draw", run.topic));
  const bool scores = std::any_of(run.rows.begin(), run.rows.end(), [](const Measurement& row) {
    return row.ScoreOfFacts().has_value();
  });
  const std::optional<SweepLines> sweep = scores ? std::nullopt : TakeApart(run);
  return sweep ? SweepDrawing(run, *sweep).Draw() : BarsSvg(run);
}

}  // namespace tessera::bench
