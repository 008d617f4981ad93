#include "bench/harness/compare.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "bench/harness/mann_whitney.h"
#include "bench/harness/result_table.h"
#include "bench/harness/samples.h"
#include "runtime/base/check.h"
#include "runtime/base/joined.h"
#include "runtime/base/report_text.h"

namespace tessera::bench {
namespace {

// Axes that say nothing of a row's work: the lab's names of contenders; and caches, where the row
// itself says what it found.
bool SaysNothing(const std::string& axis) { return axis == "variants" || axis == "caches"; }

bool SameValues(const Measurement& a, const Measurement& b) {
  if (a.values.empty() || b.values.empty()) return a.CaseWithoutCaches() == b.CaseWithoutCaches();
  for (const auto& [axis, value] : a.values)
    for (const auto& [other_axis, other] : b.values)
      if (axis == other_axis && !SaysNothing(axis) && value != other) return false;
  return true;
}

bool SameWork(const Measurement& a, const Measurement& b) {
  return a.threads == b.threads && a.cold == b.cold && a.contender == b.contender &&
         SameValues(a, b);
}

// The run's rows of the same work as `like`.
std::vector<const Measurement*> FindRows(const BenchRun& run, const Measurement& like) {
  std::vector<const Measurement*> rows;
  for (const Measurement& row : run.rows)
    if (SameWork(row, like)) rows.push_back(&row);
  const auto of_its_name = [&](const Measurement* row) {
    return row->CaseWithoutCaches() == like.CaseWithoutCaches();
  };
  if (std::any_of(rows.begin(), rows.end(), of_its_name))
    std::erase_if(rows, [&](const Measurement* row) { return !of_its_name(row); });
  return rows;
}

std::string RowName(const Measurement& row) {
  return Format("{} {}{}", row.Name(), row.contender, row.cold ? "" : " (warm)");
}

std::vector<std::string> RowsOnlyIn(const BenchRun& run, const BenchRun& other) {
  std::vector<std::string> names;
  for (const Measurement& row : run.rows)
    if (FindRows(other, row).empty()) names.push_back(RowName(row));
  return names;
}

bool HasLeastPasses(const Measurement& row) { return row.Passes() >= kLeastPasses; }

std::vector<double> MediansOfPasses(const std::vector<double>& samples,
                                    const std::vector<int64_t>& pass_rounds) {
  std::vector<double> medians;
  auto begin = samples.begin();
  for (const int64_t rounds : pass_rounds) {
    medians.push_back(MedianOf({begin, begin + rounds}));
    begin += rounds;
  }
  return medians;
}

// Logarithms of speeds: of each round, or the median of each pass.
std::vector<double> SpeedSamples(const Measurement& row, bool by_share, bool by_passes) {
  std::vector<double> speeds = Ratios(
      by_share ? row.limit_seconds : std::vector<double>(row.seconds.size(), 1), row.seconds);
  for (double& speed : speeds) speed = std::log(speed);
  return by_passes ? MediansOfPasses(speeds, row.pass_rounds) : speeds;
}

std::string NameOf(const Measurement& before, const Measurement& now) {
  if (before.case_name == now.case_name) return now.Name();
  return Format("{} (old: {})", now.Name(), before.case_name);
}

Verdict VerdictOf(const RowChange& change) {
  if (change.p < kSignificance) {
    if (change.speed > 1 + kLeastChange) return Verdict::kFaster;
    if (change.speed < 1 - kLeastChange) return Verdict::kSlower;
  }
  constexpr double kWide = 1 + kUnclearChange;
  const bool wide = change.speed_low < 1 / kWide || change.speed_high > kWide;
  return wide ? Verdict::kUnclear : Verdict::kSame;
}

RowChange Change(const Measurement& before, const Measurement& now) {
  RowChange change{.name = NameOf(before, now),
                   .contender = now.contender,
                   .old_seconds = before.Median(),
                   .new_seconds = now.Median(),
                   .old_share = before.Share(),
                   .new_share = now.Share(),
                   .by_passes = HasLeastPasses(before) && HasLeastPasses(now)};
  const std::vector<double> old_speeds = SpeedSamples(before, change.ByShare(), change.by_passes);
  const std::vector<double> new_speeds = SpeedSamples(now, change.ByShare(), change.by_passes);
  const Shift shift = HodgesLehmann(old_speeds, new_speeds, kSignificance);
  change.speed = std::exp(shift.estimate);
  change.speed_low = std::exp(shift.low);
  change.speed_high = std::exp(shift.high);
  change.p = MannWhitney(old_speeds, new_speeds);
  change.verdict = LeastP(old_speeds.size(), new_speeds.size()) < kSignificance
                       ? VerdictOf(change)
                       : Verdict::kTooFewRounds;
  return change;
}

std::string Percent(double share) { return share > 0 ? Format("{:.1f} %", 100 * share) : "-"; }

std::string IntervalText(const RowChange& change) {
  if (change.verdict == Verdict::kTooFewRounds) return "-";
  return Format("{:.3f} - {:.3f}", change.speed_low, change.speed_high);
}

std::vector<std::string> Cells(const RowChange& change) {
  return {change.contender,
          SecondsText(change.old_seconds),
          SecondsText(change.new_seconds),
          Format("{:.3f}x", change.speed),
          IntervalText(change),
          Percent(change.old_share),
          Percent(change.new_share),
          change.p < 0.0001 ? "<0.0001" : Format("{:.4f}", change.p),
          ToString(change.verdict)};
}

std::string NamesLine(const char* where, const std::vector<std::string>& names) {
  if (names.empty()) return "";
  return Format("only in the {} run: {}\n", where, internal::Joined(names));
}

int64_t CountByRounds(const RunComparison& comparison) {
  return std::ranges::count(comparison.rows, false, &RowChange::by_passes);
}

std::string CountsLine(const RunComparison& comparison) {
  if (comparison.rows.empty()) return "no row is in both runs: nothing was compared\n";
  int64_t counts[5] = {};
  for (const RowChange& row : comparison.rows) ++counts[static_cast<int>(row.verdict)];
  return Format(
      "{} faster, {} slower, {} the same, {} unclear (more than {:.0f} %, and p < {} by the test\n"
      "of Mann and Whitney over {}, of shares of the limit where both are known;\n"
      "speed is new / old, with its {:.0f} % interval; unclear: not told apart, and the interval\n"
      "reaches beyond a change of {:.0f} %)\n",
      counts[0], counts[1], counts[2], counts[3], 100 * kLeastChange, kSignificance,
      CountByRounds(comparison) == 0 ? "the medians of passes" : "the rounds",
      100 * (1 - kSignificance), 100 * kUnclearChange);
}

std::string ByRoundsLine(const RunComparison& comparison) {
  const int64_t by_rounds = CountByRounds(comparison);
  if (by_rounds == 0) return "";
  return Format(
      "{} of {} rows are compared by rounds, as a run has fewer than {} passes of them. Rounds of\n"
      "a pass share their tables and their moment: such verdicts hold only on a machine that does\n"
      "not drift (else --against, or --passes {} for both runs)\n",
      by_rounds, comparison.rows.size(), kLeastPasses, kLeastPasses);
}

// A table of the rows, a line with the case's name before its contenders.
std::string RowsText(const std::vector<RowChange>& rows) {
  const bool by_share = std::ranges::all_of(rows, &RowChange::ByShare);
  std::vector<std::vector<std::string>> table = {{"contender", "old", "new",
                                                  by_share ? "speed/limit" : "speed", "interval",
                                                  "old share", "new share", "p", "verdict"}};
  for (const RowChange& row : rows) table.push_back(Cells(row));
  std::istringstream lines(internal::TextTable(table, "  "));
  std::string text, line;
  std::getline(lines, line);
  text += line + "\n";
  for (size_t i = 0; i < rows.size() && std::getline(lines, line); ++i) {
    if (i == 0 || rows[i].name != rows[i - 1].name) text += rows[i].name + "\n";
    text += line + "\n";
  }
  return text;
}

std::string TooFewLine(const RunComparison& comparison) {
  const auto few =
      std::count_if(comparison.rows.begin(), comparison.rows.end(),
                    [](const RowChange& row) { return row.verdict == Verdict::kTooFewRounds; });
  if (few == 0) return "";
  return Format(
      "warning: {} of {} rows have too few rounds to decide: p can fall below {} from 5 rounds on "
      "in both\nruns (--rounds)\n",
      few, comparison.rows.size(), kSignificance);
}

}  // namespace

std::string ToString(Verdict verdict) {
  constexpr const char* kNames[] = {"faster", "slower", "same", "unclear", "too few rounds"};
  return kNames[static_cast<int>(verdict)];
}

void CheckComparable(const BenchRun& old_run, const BenchRun& new_run) {
  if (old_run.topic != new_run.topic)
    throw Error(Format("a run of topic '{}' cannot be compared with one of topic '{}'",
                       new_run.topic, old_run.topic));
}

double LeastFoundChange(const Measurement& row) {
  // A normal estimate lies with p < 0.01 beyond 2.58 of its deviations, half of the interval. One
  // whose mean lies 1.64 deviations further out does so in 19 of 20 cases, 2.33 in 99 of 100: those
  // that few passes are too kind to, and machines that are not normal, take the difference.
  constexpr double kOfHalf = (2.576 + 2.326) / 2.576;
  const std::vector<double> speeds = SpeedSamples(row, row.HasLimit(), HasLeastPasses(row));
  return std::expm1(kOfHalf * HodgesLehmann(speeds, speeds, kSignificance).high);
}

std::vector<std::pair<const Measurement*, const Measurement*>> RowsOfBoth(const BenchRun& old_run,
                                                                          const BenchRun& new_run) {
  std::vector<std::pair<const Measurement*, const Measurement*>> rows;
  for (const Measurement& row : new_run.rows)
    for (const Measurement* before : FindRows(old_run, row)) rows.emplace_back(before, &row);
  return rows;
}

RunComparison CompareRuns(const BenchRun& old_run, const BenchRun& new_run) {
  CheckComparable(old_run, new_run);
  RunComparison comparison{.old_machine = old_run.machine,
                           .new_machine = new_run.machine,
                           .old_date = old_run.date,
                           .new_date = new_run.date,
                           .rows = {},
                           .only_old = RowsOnlyIn(old_run, new_run),
                           .only_new = RowsOnlyIn(new_run, old_run)};
  for (const auto& [before, now] : RowsOfBoth(old_run, new_run))
    comparison.rows.push_back(Change(*before, *now));
  return comparison;
}

std::string ComparisonText(const RunComparison& comparison) {
  std::string text = Format("old: {}, new: {}\n", comparison.old_date, comparison.new_date);
  if (comparison.old_machine != comparison.new_machine)
    text += Format("warning: the old run is of another machine: {}, now {}\n",
                   comparison.old_machine, comparison.new_machine);
  return text + RowsText(comparison.rows) + NamesLine("old", comparison.only_old) +
         NamesLine("new", comparison.only_new) + CountsLine(comparison) + ByRoundsLine(comparison) +
         TooFewLine(comparison);
}

}  // namespace tessera::bench
