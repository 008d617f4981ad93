#include "bench/pictures/bars_svg.h"

#include <algorithm>

#include "bench/harness/case_parts.h"
#include "bench/harness/result_table.h"
#include "bench/harness/samples.h"
#include "bench/pictures/chart_parts.h"
#include "runtime/base/check.h"
#include "runtime/base/joined.h"

namespace tessera::bench {
namespace {

constexpr double kBar = 13, kBarGap = 2, kGroupGap = 11, kBarLabelRoom = 250, kBarValueRoom = 130;

struct Group {
  std::string label;
  std::vector<const Measurement*> rows;
};

enum class BarQuantity { kShare, kScore, kSeconds };

BarQuantity QuantityOf(const Measurement& row) {
  if (row.HasLimit()) return BarQuantity::kShare;
  return row.ScoreOfFacts() ? BarQuantity::kScore : BarQuantity::kSeconds;
}

// Groups on one axis.
struct Panel {
  std::string title;
  BarQuantity quantity = BarQuantity::kSeconds;
  std::vector<Group> groups;
};

std::vector<double> Lengths(const Panel& panel, const Measurement& row) {
  if (panel.quantity == BarQuantity::kSeconds) return row.seconds;
  if (panel.quantity == BarQuantity::kScore) return {row.ScoreOfFacts()->value};
  return Ratios(row.limit_seconds, row.seconds);
}

bool ThreadsVary(const BenchRun& run) {
  return std::any_of(run.rows.begin(), run.rows.end(),
                     [&](const Measurement& r) { return r.threads != run.rows.front().threads; });
}

CaseParts PartsOf(const BenchRun& run) {
  std::vector<std::string> names;
  for (const Measurement& row : run.rows) names.push_back(row.case_name);
  return CaseParts(names);
}

// Names what sets the row's bars apart from others: "dim=64 · 2t".
std::string LabelOf(const Measurement& row, const CaseParts& parts, bool say_threads) {
  const std::string own = parts.OwnPart(row.case_name);
  if (!say_threads) return own;
  return Format("{}{}{}t", own, own.empty() ? "" : " · ", row.threads);
}

Panel PanelOf(const BenchRun& run, BarQuantity quantity, const std::string& title) {
  Panel panel{.title = title, .quantity = quantity, .groups = {}};
  std::vector<std::string> labels;
  const bool say_threads = ThreadsVary(run);
  const CaseParts parts = PartsOf(run);
  for (const Measurement& row : run.rows) {
    if (QuantityOf(row) != quantity) continue;
    const size_t group = IndexIn(labels, LabelOf(row, parts, say_threads));
    if (group == panel.groups.size()) panel.groups.push_back({labels[group], {}});
    panel.groups[group].rows.push_back(&row);
  }
  return panel;
}

double LongestBar(const Panel& panel) {
  double longest = panel.quantity == BarQuantity::kShare ? 1 : 0;
  for (const Group& group : panel.groups)
    for (const Measurement* row : group.rows)
      longest = std::max({longest, QuantileOf(Lengths(panel, *row), 0.9),
                          panel.quantity == BarQuantity::kScore ? row->ScoreOfFacts()->best : 0});
  return longest > 0 ? longest : 1;
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
    axis_.begin = kChartMargin + std::min(room, kBarLabelRoom) + 8;
    axis_.end = canvas.width() - kChartMargin - kBarValueRoom;
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
    if (panel_.quantity == BarQuantity::kShare) DrawLimit(top, bottom);
    ForEachBar(top, [&](const Measurement& row, double y) { DrawValue(row, y); });
    return bottom + 28;
  }

 private:
  void DrawGrid(double top, double bottom) {
    const TimeUnit unit = TimeUnitFor(axis_.high);
    const bool seconds = panel_.quantity == BarQuantity::kSeconds;
    const double scale = seconds ? unit.per_second : 100;
    const ChartAxis shown{.low = 0, .high = axis_.high * scale};
    for (const double tick : shown.Ticks(6)) {
      const double x = axis_.At(tick / scale);
      canvas_.Line(x, top, x, bottom, tick > 0 ? "grid" : "axis");
      canvas_.Text(x, bottom + 14, Format("{:.3g} {}", tick, seconds ? unit.name : "%"), "note",
                   Anchor::kMiddle);
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
                   FittedText(group.label, kBarLabelRoom, 12), "label", Anchor::kEnd);
      y += HeightOf(group);
    }
  }

  void DrawBar(const Measurement& row, double y) {
    const double end = Place(row, 0.5), low = Place(row, 0.1), high = Place(row, 0.9);
    canvas_.Rect(axis_.begin, y, end - axis_.begin, kBar,
                 SeriesClass('s', IndexIn(contenders_, row.contender)));
    if (panel_.quantity == BarQuantity::kScore) {
      const double best = axis_.At(row.ScoreOfFacts()->best);
      canvas_.Line(best, y - 1, best, y + kBar + 1, "limit");
    }
    if (high - low > 1) canvas_.Line(low, y + kBar / 2, high, y + kBar / 2, "axis");
  }

  std::string ValueText(const Measurement& row) const {
    const std::string time = SecondsText(row.Median());
    if (panel_.quantity == BarQuantity::kSeconds) return time;
    if (panel_.quantity == BarQuantity::kShare)
      return Format("{:.0f} % · {}", 100 * row.Share(), time);
    const Score score = *row.ScoreOfFacts();
    return Format("{:.1f} % · {:.0f} % of best", 100 * score.value, 100 * score.ShareOfBest());
  }

  void DrawValue(const Measurement& row, double y) {
    const bool scored = panel_.quantity == BarQuantity::kScore;
    const double end = scored ? axis_.At(row.ScoreOfFacts()->best) : Place(row, 0.9);
    canvas_.Text(end + 6, y + kBar - 3, ValueText(row), "value");
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

std::string ScoreTitle(const BenchRun& run) {
  for (const Measurement& row : run.rows)
    if (const auto score = row.ScoreOfFacts())
      return Format("{}, and a mark at the best possible; longer is better", score->name);
  return "";
}

}  // namespace

std::string BarsSvg(const BenchRun& run) {
  SvgCanvas canvas(kChartWidth);
  std::vector<std::string> contenders;
  for (const Measurement& row : run.rows) IndexIn(contenders, row.contender);
  double y = DrawHead(canvas, run, "speed of each case");
  if (const std::vector<std::string> shared = PartsOf(run).shared(); !shared.empty()) {
    canvas.Text(
        kChartMargin, y + 4,
        FittedText("All cases: " + internal::Joined(shared), kChartWidth - 2 * kChartMargin, 11),
        "note");
    y += 16;
  }
  if (contenders.size() > 1) y = DrawLegend(canvas, y, LegendOf(contenders));
  for (const Panel& panel :
       {PanelOf(run, BarQuantity::kShare, "Share of the limit's speed; longer is better"),
        PanelOf(run, BarQuantity::kScore, ScoreTitle(run)),
        PanelOf(run, BarQuantity::kSeconds,
                "Time of a call, where no limit is known; shorter is better")})
    if (!panel.groups.empty()) y = PanelDrawing(canvas, panel, contenders).Draw(y);
  return canvas.Finish(y + 4, Format("{}: speed of each case", run.topic));
}

}  // namespace tessera::bench
