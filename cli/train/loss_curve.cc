#include "cli/train/loss_curve.h"

#include <algorithm>
#include <cmath>

#include "cli/show/numbers.h"
#include "runtime/base/check.h"

namespace tessera::cli {
namespace {

// Text rows over [low, high], the highest first.
struct Scale {
  double low, high;
  int RowOf(double loss) const {
    const double from_top = (high - loss) / (high - low) * (LossCurve::kRows - 1);
    return std::clamp(static_cast<int>(from_top + 0.5), 0, LossCurve::kRows - 1);
  }
  double LossAt(int row) const { return high - (high - low) * row / (LossCurve::kRows - 1); }
};

Scale ScaleOf(const std::vector<double>& columns, std::optional<double> optimum) {
  const auto [low, high] = std::minmax_element(columns.begin(), columns.end());
  Scale scale{*low, *high};
  if (optimum) {
    scale.low = std::min(scale.low, *optimum);
    scale.high = std::max(scale.high, *optimum);
  }
  if (scale.high - scale.low < 1e-3) scale.high = scale.low + 1e-3;
  return scale;
}

}  // namespace

void LossCurve::Add(int64_t examples, double loss) {
  points_.push_back({examples, loss});
  examples_ += examples;
}

// Each point belongs to the column of its first example.
std::vector<double> LossCurve::Columns() const {
  const int count =
      std::min<int>(kColumns, static_cast<int>(std::min<size_t>(points_.size(), kColumns)));
  std::vector<double> sums(static_cast<size_t>(count)), weights(static_cast<size_t>(count));
  int64_t at = 0;
  for (const Point& point : points_) {
    const size_t column = static_cast<size_t>(at * count / examples_);
    sums[column] += point.loss * static_cast<double>(point.examples);
    weights[column] += static_cast<double>(point.examples);
    at += point.examples;
  }
  for (size_t c = 0; c < sums.size(); ++c)
    sums[c] = weights[c] > 0 ? sums[c] / weights[c] : c > 0 ? sums[c - 1] : 0;
  return sums;
}

std::string LossCurve::Draw(std::optional<double> optimum) const {
  if (points_.size() < 2) return "";
  const std::vector<double> columns = Columns();
  const Scale scale = ScaleOf(columns, optimum);
  std::string text;
  for (int row = 0; row < kRows; ++row) {
    const bool is_optimum = optimum && scale.RowOf(*optimum) == row;
    std::string line;
    for (size_t c = 0; c < columns.size(); ++c)
      line += scale.RowOf(columns[c]) == row ? '*' : is_optimum && c % 2 == 0 ? '-' : ' ';
    if (is_optimum) line += Format("  {:.4f}, the best possible", *optimum);
    line = Format("{:7.4f} |{}", scale.LossAt(row), line);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  const std::string last = Counted(examples_, "row");
  const size_t gap = columns.size() > last.size() + 2 ? columns.size() - last.size() - 1 : 1;
  text += "        +" + std::string(columns.size(), '-') + "\n         0" + std::string(gap, ' ') +
          last + "\n";
  return text;
}

}  // namespace tessera::cli
