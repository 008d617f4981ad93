#include "bench/harness/bars_svg.h"

#include <algorithm>

#include "bench/harness/chart_parts.h"
#include "bench/harness/result_table.h"
#include "bench/harness/samples.h"
#include "runtime/check.h"

namespace tessera::bench {
namespace {

constexpr double kBar = 13, kBarGap = 2, kGroupGap = 11, kLabelRoom = 250, kValueRoom = 130;

struct Group {
  std::string label;
  std::vector<const Measurement*> rows;
};

// Groups on one axis.
struct Panel {
  std::string title;
  bool shares = false;  // else seconds
  std::vector<Group> groups;
};

std::vector<double> Lengths(const Panel& panel, const Measurement& row) {
  if (!panel.shares) return row.seconds;
  std::vector<double> shares;
  for (size_t i = 0; i < row.seconds.size(); ++i)
    shares.push_back(row.limit_seconds[i] / row.seconds[i]);
  return shares;
}

bool ThreadsVary(const BenchRun& run) {
  return std::any_of(run.rows.begin(), run.rows.end(),
                     [&](const Measurement& r) { return r.threads != run.rows.front().threads; });
}

Panel PanelOf(const BenchRun& run, bool shares, const std::string& title) {
  Panel panel{.title = title, .shares = shares, .groups = {}};
  std::vector<std::string> labels;
  const bool say_threads = ThreadsVary(run);
  for (const Measurement& row : run.rows) {
    if (row.HasLimit() != shares) continue;
    const size_t group = IndexIn(
        labels, say_threads ? Format("{} · {}t", row.case_name, row.threads) : row.case_name);
    if (group == panel.groups.size()) panel.groups.push_back({labels[group], {}});
    panel.groups[group].rows.push_back(&row);
  }
  return panel;
}

double LongestBar(const Panel& panel) {
  double longest = panel.shares ? 1 : 0;
  for (const Group& group : panel.groups)
    for (const Measurement* row : group.rows)
      longest = std::max(longest, QuantileOf(Lengths(panel, *row), 0.9));
  return longest;
}

double HeightOf(const Group& group) {
  return static_cast<double>(group.rows.size()) * (kBar + kBarGap) - kBarGap;
}

double HeightOf(const Panel& panel) {
  double height = kGroupGap;
  for (const Group& group : panel.groups) height += HeightOf(group) + kGroupGap;
  return height;
}

class PanelDrawing {
 public:
  PanelDrawing(SvgCanvas& canvas, const Panel& panel, std::vector<std::string>& contenders)
      : canvas_(canvas), panel_(panel), contenders_(contenders) {
    double room = 0;
    for (const Group& group : panel.groups) room = std::max(room, TextWidth(group.label, 12));
    axis_.begin = kChartMargin + std::min(room, kLabelRoom) + 8;
    axis_.end = canvas.width() - kChartMargin - kValueRoom;
    axis_.high = LongestBar(panel);
  }

  // Returns where the next part may begin.
  double Draw(double y) {
    canvas_.Text(kChartMargin, y + 14, panel_.title, "label");
    const double top = y + 30;
    const double bottom = top + HeightOf(panel_);
    DrawGrid(top, bottom);
    DrawLabels(top);
    ForEachBar(top, [&](const Measurement& row, double y) { DrawBar(row, y); });
    if (panel_.shares) DrawLimit(top, bottom);
    ForEachBar(top, [&](const Measurement& row, double y) { DrawValue(row, y); });
    return bottom + 28;
  }

 private:
  void DrawGrid(double top, double bottom) {
    const TimeUnit unit = TimeUnitFor(axis_.high);
    const double scale = panel_.shares ? 100 : unit.per_second;
    const ChartAxis shown{.low = 0, .high = axis_.high * scale};
    for (const double tick : shown.Ticks(6)) {
      const double x = axis_.At(tick / scale);
      canvas_.Line(x, top, x, bottom, tick > 0 ? "grid" : "axis");
      canvas_.Text(x, bottom + 14, Format("{:.3g} {}", tick, panel_.shares ? "%" : unit.name),
                   "note", Anchor::kMiddle);
    }
  }

  template <typename Fn>
  void ForEachBar(double y, const Fn& fn) {
    for (const Group& group : panel_.groups) {
      y += kGroupGap;
      for (size_t i = 0; i < group.rows.size(); ++i)
        fn(*group.rows[i], y + static_cast<double>(i) * (kBar + kBarGap));
      y += HeightOf(group);
    }
  }

  void DrawLabels(double y) {
    for (const Group& group : panel_.groups) {
      y += kGroupGap;
      canvas_.Text(axis_.begin - 8, y + HeightOf(group) / 2 + 4,
                   FittedText(group.label, kLabelRoom, 12), "label", Anchor::kEnd);
      y += HeightOf(group);
    }
  }

  void DrawBar(const Measurement& row, double y) {
    const double end = Place(row, 0.5), low = Place(row, 0.1), high = Place(row, 0.9);
    canvas_.Rect(axis_.begin, y, end - axis_.begin, kBar,
                 SeriesClass('s', IndexIn(contenders_, row.contender)));
    if (high - low > 1) canvas_.Line(low, y + kBar / 2, high, y + kBar / 2, "axis");
  }

  void DrawValue(const Measurement& row, double y) {
    const std::string time = SecondsText(row.Median());
    canvas_.Text(Place(row, 0.9) + 6, y + kBar - 3,
                 panel_.shares ? Format("{:.0f} % · {}", 100 * row.Share(), time) : time, "value");
  }

  double Place(const Measurement& row, double q) const {
    return axis_.At(QuantileOf(Lengths(panel_, row), q));
  }

  void DrawLimit(double top, double bottom) {
    canvas_.Line(axis_.At(1), top - 4, axis_.At(1), bottom, "limit");
    canvas_.Text(axis_.At(1), top - 8, "limit", "note limittext", Anchor::kMiddle);
  }

  SvgCanvas& canvas_;
  const Panel& panel_;
  std::vector<std::string>& contenders_;
  ChartAxis axis_;
};

std::vector<LegendEntry> LegendOf(const std::vector<std::string>& contenders) {
  std::vector<LegendEntry> entries;
  for (size_t i = 0; i < contenders.size(); ++i)
    entries.push_back({SeriesClass('s', i), contenders[i]});
  return entries;
}

}  // namespace

std::string BarsSvg(const BenchRun& run) {
  SvgCanvas canvas(kChartWidth);
  std::vector<std::string> contenders;
  for (const Measurement& row : run.rows) IndexIn(contenders, row.contender);
  double y = DrawHead(canvas, run, "speed of each case");
  if (contenders.size() > 1) y = DrawLegend(canvas, y, LegendOf(contenders));
  for (const Panel& panel :
       {PanelOf(run, true, "Share of the limit's speed; longer is better"),
        PanelOf(run, false, "Time of a call, where no limit is known; shorter is better")})
    if (!panel.groups.empty()) y = PanelDrawing(canvas, panel, contenders).Draw(y);
  return canvas.Finish(y + 4, Format("{}: speed of each case", run.topic));
}

}  // namespace tessera::bench
