#include "bench/harness/result_table.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

constexpr size_t kWidths[] = {0, 9, 0, 12, 9, 9, 13, 10, 12, 9};
constexpr size_t kContenderWidth = 18;

std::string Padded(const std::string& text, size_t width, bool left) {
  const std::string space(width > text.size() ? width - text.size() : 0, ' ');
  return left ? text + space : space + text;
}

}  // namespace

std::string SecondsText(double seconds) {
  if (seconds < 1e-6) return Format("{:.1f} ns", 1e9 * seconds);
  if (seconds < 1e-3) return Format("{:.2f} us", 1e6 * seconds);
  if (seconds < 1) return Format("{:.2f} ms", 1e3 * seconds);
  return Format("{:.2f} s", seconds);
}

ResultTable::ResultTable(const std::vector<Point>& points) : case_width_(4) {
  for (const Point& point : points) case_width_ = std::max(case_width_, point.label().size());
}

std::string ResultTable::Lines(const std::vector<Measurement>& rows) {
  std::string text;
  for (const Measurement& row : rows) {
    const std::optional<Score> score = row.ScoreOfFacts();
    if (item_.empty() || (row.items > 0 && item_ != row.item)) {
      item_ = row.item;
      std::vector<std::string> heading = {"case",   "threads", "contender",         "time",
                                          "spread", "GB/s",    "M " + item_ + "/s", "of limit"};
      if (score) heading.insert(heading.end(), {score->name, "of best"});
      text += Line(heading);
    }
    const double spread = row.Spread();
    std::vector<std::string> cells = {
        row.case_name,
        std::to_string(row.threads),
        row.contender,
        SecondsText(row.Median()),
        Format("{:.0f} %{}", 100 * spread, spread > kNoisySpread ? "!" : " "),
        row.bytes > 0 ? Format("{:.2f}", 1e-9 * row.BytesPerSecond()) : "-",
        row.items > 0 ? Format("{:.3g}", 1e-6 * row.ItemsPerSecond()) : "-",
        row.HasLimit() ? Format("{:.0f} %", 100 * row.Share()) : "-"};
    if (score)
      cells.insert(cells.end(), {Format("{:.1f} %", 100 * score->value),
                                 Format("{:.0f} %", 100 * score->ShareOfBest())});
    text += Line(cells);
  }
  return text;
}

std::string ResultTable::Line(const std::vector<std::string>& cells) const {
  std::string line = Padded(cells[0], case_width_, true);
  for (size_t c = 1; c < cells.size(); ++c)
    line += c == 2 ? "  " + Padded(cells[c], kContenderWidth, true)
                   : Padded(cells[c], kWidths[c], false);
  return line + "\n";
}

std::string ResultTable::NoiseWarning(const std::vector<Measurement>& rows) {
  const auto noisy = std::count_if(rows.begin(), rows.end(),
                                   [](const Measurement& r) { return r.Spread() > kNoisySpread; });
  if (noisy == 0) return "";
  return Format(
      "{} of {} rows spread by more than {:.0f} % (!): something else uses this machine, or calls "
      "differ. Shares of the limit suffer less than times; more --rounds help.\n",
      noisy, rows.size(), 100 * kNoisySpread);
}

}  // namespace tessera::bench
