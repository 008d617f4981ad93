#include "bench/harness/measurement.h"

#include <algorithm>

#include "bench/harness/samples.h"
#include "runtime/base/check.h"

namespace tessera::bench {

std::string Measurement::Name() const { return Format("{}/{}/{}t", topic, case_name, threads); }
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

}  // namespace tessera::bench
