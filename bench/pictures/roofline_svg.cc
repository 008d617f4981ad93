#include "bench/pictures/roofline_svg.h"

#include <algorithm>
#include <set>
#include <vector>

#include "bench/pictures/chart_parts.h"
#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

constexpr double kPlotHeight = 320, kLeft = 70, kRoom = 1.5;  // kRoom: factor beyond what is drawn

struct RowPoint {
  double intensity = 0, speed = 0;  // operations a byte, operations a second
  std::string name;
};

// The machine's limits for so many threads. Slopes are bytes a second.
struct Roofs {
  int threads = 1;
  std::vector<std::pair<std::string, double>> slopes;
  double most = 0;  // operations a second

  double Steepest() const {
    double steepest = 0;
    for (const auto& slope : slopes) steepest = std::max(steepest, slope.second);
    return steepest;
  }
};

std::string ThreadsText(int threads) {
  return Format("{} {}", threads, threads == 1 ? "thread" : "threads");
}

double OperationsOf(const Measurement& row) {
  for (const auto& [name, value] : row.facts)
    if (name == "operations") return value;
  return 0;
}

std::vector<RowPoint> PointsOf(const BenchRun& run, std::set<int>& threads) {
  std::vector<RowPoint> points;
  for (const Measurement& row : run.rows) {
    const double operations = OperationsOf(row);
    if (!(operations > 0 && row.bytes > 0)) continue;
    threads.insert(row.threads);
    points.push_back(
        {operations / row.bytes, operations / row.Median(),
         Format("{}, {}, {}", row.case_name, ThreadsText(row.threads), row.contender)});
  }
  if (points.empty())
    throw Error(Format("{}: no row has operations and bytes: those of lookup, update and lab have",
                       run.topic));
  return points;
}

std::string KindOf(const Measurement& row) {
  for (const auto& [name, value] : row.values)
    if (name == "kind") return value;
  return "";
}

Roofs RoofsOf(const BenchRun& limits, int threads) {
  Roofs roofs{threads, {}, 0};
  for (const Measurement& row : limits.rows) {
    const std::string kind = KindOf(row);
    if (row.threads != threads) continue;
    if (kind == "read" || kind == "copy" || kind == "write")
      roofs.slopes.emplace_back(kind, row.BytesPerSecond());
    if (kind == "fma") roofs.most = row.ItemsPerSecond();
  }
  if (roofs.slopes.empty() || roofs.most == 0)
    throw Error(
        Format("the limits have no roofs for {}: tessera bench limits --kind read,copy,fma "
               "--threads {} --json FILE measures them",
               ThreadsText(threads), threads));
  return roofs;
}

class RooflineDrawing {
 public:
  RooflineDrawing(const BenchRun& run, const BenchRun& limits) : run_(run), canvas_(kChartWidth) {
    std::set<int> threads;
    points_ = PointsOf(run, threads);
    for (const int count : threads) roofs_.push_back(RoofsOf(limits, count));
    SetUpAxes();
  }

  std::string Draw() {
    const std::string what = "operations a second under the machine's roofs";
    const double top = DrawLegend(canvas_, DrawHead(canvas_, run_, what), Legend()) + 24;
    y_.begin = top + kPlotHeight;
    y_.end = top;
    canvas_.Text(kChartMargin, top - 10, "operations a second", "note");
    DrawGrid(top);
    for (size_t r = 0; r < roofs_.size(); ++r) DrawRoofs(roofs_[r], r);
    for (size_t p = 0; p < points_.size(); ++p)
      canvas_.Circle(x_.At(points_[p].intensity), y_.At(points_[p].speed), 4.5,
                     SeriesClass('s', p));
    return canvas_.Finish(y_.begin + 48, Format("{}: {}", run_.topic, what));
  }

 private:
  // From the least point or its roof to the last ridge or point.
  void SetUpAxes() {
    x_ = {.low = points_[0].intensity,
          .high = points_[0].intensity,
          .begin = kLeft,
          .end = kChartWidth - kChartMargin - 12,
          .logarithmic = true};
    y_ = {.low = points_[0].speed, .high = points_[0].speed, .logarithmic = true};
    for (const RowPoint& point : points_) {
      x_.low = std::min(x_.low, point.intensity / kRoom);
      x_.high = std::max(x_.high, point.intensity * kRoom);
      y_.low = std::min(y_.low, point.speed / kRoom);
      y_.high = std::max(y_.high, point.speed * kRoom);
    }
    for (const Roofs& roofs : roofs_)
      for (const auto& slope : roofs.slopes) {
        x_.high = std::max(x_.high, kRoom * roofs.most / slope.second);
        y_.high = std::max(y_.high, kRoom * roofs.most);
        y_.low = std::min(y_.low, x_.low * slope.second);
      }
  }

  std::vector<LegendEntry> Legend() const {
    std::vector<LegendEntry> entries;
    for (size_t p = 0; p < points_.size(); ++p)
      entries.push_back({SeriesClass('s', p), points_[p].name});
    for (size_t r = 0; r < roofs_.size(); ++r) {
      std::string text = ThreadsText(roofs_[r].threads) + ":";
      for (const auto& [kind, slope] : roofs_[r].slopes)
        text += Format(" {} {:.3g} GB/s,", kind, slope / 1e9);
      entries.push_back({SeriesClass('l', r),
                         Format("{} fma {} operations/s", text, ShortNumber(roofs_[r].most)),
                         /*line=*/true});
    }
    return entries;
  }

  void DrawGrid(double top) {
    for (const double tick : y_.Ticks(6)) {
      canvas_.Line(x_.begin, y_.At(tick), x_.end, y_.At(tick), "grid");
      canvas_.Text(x_.begin - 8, y_.At(tick) + 4, ShortNumber(tick), "note", Anchor::kEnd);
    }
    for (const double tick : x_.Ticks(8)) {
      canvas_.Line(x_.At(tick), top, x_.At(tick), y_.begin, "grid");
      canvas_.Text(x_.At(tick), y_.begin + 16, ShortNumber(tick), "note", Anchor::kMiddle);
    }
    canvas_.Text((x_.begin + x_.end) / 2, y_.begin + 34, "operations a byte", "label",
                 Anchor::kMiddle);
  }

  void DrawRoofs(const Roofs& roofs, size_t series) {
    for (const auto& slope : roofs.slopes)
      canvas_.Path({{x_.begin, y_.At(x_.low * slope.second)},
                    {x_.At(roofs.most / slope.second), y_.At(roofs.most)}},
                   SeriesClass('l', series));
    canvas_.Path(
        {{x_.At(roofs.most / roofs.Steepest()), y_.At(roofs.most)}, {x_.end, y_.At(roofs.most)}},
        SeriesClass('l', series));
  }

  const BenchRun& run_;
  SvgCanvas canvas_;
  std::vector<RowPoint> points_;
  std::vector<Roofs> roofs_;
  ChartAxis x_, y_;
};

}  // namespace

std::string RooflineSvg(const BenchRun& run, const BenchRun& limits) {
  return RooflineDrawing(run, limits).Draw();
}

}  // namespace tessera::bench
