#include "bench/harness/measurement.h"

#include <algorithm>

#include "bench/harness/samples.h"
#include "runtime/base/check.h"

namespace tessera::bench {

std::string Measurement::Name() const { return Format("{}/{}/{}t", topic, case_name, threads); }

std::string Measurement::CaseWithoutCaches() const {
  std::string text;
  for (size_t begin = 0; begin <= case_name.size();) {
    const size_t end = std::min(case_name.find(',', begin), case_name.size());
    const std::string part = case_name.substr(begin, end - begin);
    if (!part.starts_with(Format("{}=", kCachesAxis))) text += (text.empty() ? "" : ",") + part;
    begin = end + 1;
  }
  return text.empty() ? "default" : text;
}

void Measurement::AddPasses(const Measurement& later) {
  if (HasLimit() != later.HasLimit())
    throw Error(Format("{} {}: some passes timed a limit, others none", Name(), contender));
  const auto add = [](const auto& more, auto& to) {
    to.insert(to.end(), more.begin(), more.end());
  };
  const auto rounds_of = [](const Measurement& row) {
    if (!row.pass_rounds.empty()) return row.pass_rounds;
    return std::vector<int64_t>{static_cast<int64_t>(row.seconds.size())};
  };
  pass_rounds = rounds_of(*this);
  add(rounds_of(later), pass_rounds);
  add(later.seconds, seconds);
  add(later.limit_seconds, limit_seconds);
  facts = later.facts;
}

double Measurement::Median() const { return MedianOf(seconds); }
double Measurement::Quantile(double q) const { return QuantileOf(seconds, q); }
double Measurement::Spread() const { return (Quantile(0.9) - Quantile(0.1)) / Median(); }
double Measurement::LimitMedian() const { return MedianOf(limit_seconds); }
double Measurement::Share() const { return HasLimit() ? MedianRatio(limit_seconds, seconds) : 0; }

std::optional<Score> Measurement::ScoreOfFacts() const {
  for (const auto& [best_name, best] : facts)
    for (const auto& [name, value] : facts) {
      if (best_name != "best_" + name) continue;
      Score score{name, value, best};
      std::replace(score.name.begin(), score.name.end(), '_', ' ');
      return score;
    }
  return std::nullopt;
}

std::string BenchRun::RoundsText() const {
  if (rows.empty()) return std::to_string(rounds);
  const auto [least, most] = std::ranges::minmax_element(
      rows, {}, [](const Measurement& row) { return row.seconds.size(); });
  const size_t from = least->seconds.size(), to = most->seconds.size();
  return from == to ? std::to_string(from) : Format("{} to {}", from, to);
}

std::string BenchRun::CachesText() const {
  const auto any = [&](bool is) {
    return std::ranges::any_of(rows, [&](const Measurement& row) { return row.cold == is; });
  };
  if (any(true) && any(false)) return "cold and warm";
  return any(false) ? "warm" : "cold";
}

}  // namespace tessera::bench
