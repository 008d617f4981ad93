#include "bench/harness/result_table.h"

#include <algorithm>
#include <initializer_list>

#include "bench/harness/row_details.h"
#include "runtime/base/check.h"
#include "runtime/base/joined.h"

namespace tessera::bench {
namespace {

constexpr size_t kThreadsWidth = 9;
constexpr size_t kRateWidth = 4;       // without " M"
constexpr double kAboveLimit = 1.005;  // what prints as more than 100 %

std::string Padded(const std::string& text, size_t width, bool left) {
  const std::string space(width > text.size() ? width - text.size() : 0, ' ');
  return left ? text + space : space + text;
}

// A number in the first of these units, each a thousand of the one before, by the one of them in
// which it is below a thousand: "1.57 us", "15.7 us", "157 us".
std::string ThreeDigits(double number, std::initializer_list<const char*> units) {
  const char* const* unit = units.begin();
  for (; number >= 999.5 && unit + 1 < units.end(); ++unit) number /= 1e3;
  if (number < 9.995) return Format("{:.2f}{}", number, *unit);
  return number < 99.95 ? Format("{:.1f}{}", number, *unit) : Format("{:.0f}{}", number, *unit);
}

std::string TimeText(double seconds) {
  return ThreeDigits(1e9 * seconds, {" ns", " us", " ms", " s"});
}
std::string RateText(double per_second) {
  return ThreeDigits(per_second, {"", " k", " M", " G", " T"});
}

std::vector<std::string> LabelsOf(const std::vector<Point>& points) {
  std::vector<std::string> labels;
  for (const Point& point : points) labels.push_back(point.label());
  return labels;
}

std::string ThreadsText(const std::string& threads) {
  return threads + (threads == "1" ? " thread" : " threads");
}

}  // namespace

std::string SecondsText(double seconds) {
  if (seconds < 1e-6) return Format("{:.1f} ns", 1e9 * seconds);
  if (seconds < 1e-3) return Format("{:.2f} us", 1e6 * seconds);
  if (seconds < 1) return Format("{:.2f} ms", 1e3 * seconds);
  return Format("{:.2f} s", seconds);
}

ResultTable::ResultTable(const std::vector<Point>& points, bool details)
    : details_(details), parts_(LabelsOf(points)) {
  if (points.empty()) return;
  if (points[0].Has("threads")) threads_ = points[0].Text("threads");
  for (const Point& point : points) {
    if (!point.Has("threads") || point.Text("threads") != threads_) threads_.clear();
    case_width_ = std::max(case_width_, parts_.OwnPart(point.label()).size());
  }
}

std::vector<ResultTable::Column> ResultTable::ColumnsOf(const Measurement& row) const {
  const bool noisy = row.Spread() > kNoisySpread, above = row.Share() > kAboveLimit;
  const std::optional<Score> score = row.ScoreOfFacts();
  std::vector<Column> columns;
  const auto time = [&](const char* heading, double q, const char* mark) {
    const size_t width = q == 0.5 ? 10 : 9;  // with a mark
    columns.push_back({heading, TimeText(row.Quantile(q)) + mark, width});
  };
  if (!score) time("min", 0, "");
  time("p50", 0.5, noisy ? "!" : "");
  if (!score) time("p90", 0.9, "");
  if (!score) time("p99", 0.99, "");
  columns.push_back(
      {"GB/s", row.bytes > 0 ? Format("{:.2f}", 1e-9 * row.BytesPerSecond()) : "-", 8});
  columns.push_back({row.item + "/s", row.items > 0 ? RateText(row.ItemsPerSecond()) : "-",
                     std::max(row.item.size(), kRateWidth) + 4});
  columns.push_back(
      {"of limit", row.HasLimit() ? Format("{:.0f} %{}", 100 * row.Share(), above ? "*" : "") : "-",
       10});
  if (score) {
    columns.push_back({score->name, Format("{:.1f} %", 100 * score->value), 12});
    columns.push_back({"of best", Format("{:.0f} %", 100 * score->ShareOfBest()), 9});
  }
  return columns;
}

void ResultTable::FitWidths(const std::vector<Measurement>& rows) {
  contender_width_ = std::string("contender").size();
  for (const Measurement& row : rows)
    contender_width_ = std::max(contender_width_, row.contender.size());
  size_t taken = contender_width_ + 2 + (threads_.empty() ? kThreadsWidth : 0);
  for (const Column& column : ColumnsOf(rows[0])) taken += column.width;
  if (case_width_ > 0) case_width_ = std::max(case_width_, std::string("case").size());
  own_lines_ = case_width_ + taken > kLineWidth;
}

std::string ResultTable::Line(const std::string& case_name, int threads,
                              const std::string& contender, const std::vector<Column>& columns,
                              bool heading) const {
  std::string line;
  if (!own_lines_ && case_width_ > 0) line = Padded(case_name, case_width_, true);
  if (!own_lines_ && threads_.empty())
    line += Padded(heading ? "threads" : std::to_string(threads), kThreadsWidth, false);
  if (own_lines_ || !line.empty()) line += "  ";
  line += Padded(contender, contender_width_, true);
  for (const Column& column : columns) {
    const std::string& cell = heading ? column.heading : column.cell;
    line += Padded(cell, std::max(column.width, cell.size() + 1), false);
  }
  return line + "\n";
}

std::string ResultTable::Lines(const std::vector<Measurement>& rows) {
  std::string text;
  if (item_.empty() && !rows.empty()) {
    FitWidths(rows);
    std::vector<std::string> common;
    if (!parts_.shared().empty()) common.push_back(internal::Joined(parts_.shared()));
    if (!threads_.empty()) common.push_back(ThreadsText(threads_));
    if (!common.empty()) text += "All rows: " + internal::Joined(common, "; ") + "\n";
  }
  for (const Measurement& row : rows) {
    const std::vector<Column> columns = ColumnsOf(row);
    if (item_.empty() || (row.items > 0 && item_ != row.item)) {
      item_ = row.item;
      text += Line("case", 0, "contender", columns, /*heading=*/true);
    }
    const std::string name =
        parts_.OwnPart(row.case_name) +
        (threads_.empty() ? ", " + ThreadsText(Format("{}", row.threads)) : "");
    if (own_lines_ && name != last_case_) text += name + "\n";
    last_case_ = name;
    text +=
        Line(parts_.OwnPart(row.case_name), row.threads, row.contender, columns, /*heading=*/false);
    if (details_) text += DetailsText(row);
  }
  return text;
}

std::string ResultTable::Warnings(const std::vector<Measurement>& rows) {
  std::string text;
  const auto count = [&](auto&& fits) { return std::count_if(rows.begin(), rows.end(), fits); };
  if (const auto noisy = count([](const Measurement& r) { return r.Spread() > kNoisySpread; }))
    text += Format(
        "{} of {} rows spread by more than {:.0f} % (!): something else uses this machine, or "
        "calls\ndiffer. Shares of the limit suffer less than times; more --rounds help.\n",
        noisy, rows.size(), 100 * kNoisySpread);
  if (const auto above = count([](const Measurement& r) { return r.Share() > kAboveLimit; }))
    text += Format(
        "{} of {} rows reached more than 100 % of the limit (*): the limit is the best bare loop "
        "we "
        "know,\nno bound. Where rows come from caches or calls are short, a loop made for memory "
        "is not the best.\n",
        above, rows.size());
  return text;
}

}  // namespace tessera::bench
