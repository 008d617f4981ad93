#include <algorithm>
#include <cmath>
#include <numeric>

#include "planner/calibration/rounds.h"
#include "planner/calibration/time_plan.h"
#include "runtime/base/check.h"

namespace tessera {
namespace {

std::vector<double> RanksOf(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t i = 0; i < order.size();) {
    size_t end = i + 1;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (size_t k = i; k < end; ++k)
      ranks[order[k]] = (static_cast<double>(i) + static_cast<double>(end - 1)) / 2;
    i = end;
  }
  return ranks;
}

double Correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto n = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / n,
               mean_b = std::accumulate(b.begin(), b.end(), 0.0) / n;
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

double MedianError(std::span<const double> predicted, std::span<const double> measured,
                   double scale) {
  std::vector<double> errors;
  for (size_t i = 0; i < predicted.size(); ++i)
    errors.push_back(std::abs(scale * predicted[i] - measured[i]) / measured[i]);
  return MedianOf(std::move(errors));
}

}  // namespace

Agreement ComputeAgreement(std::span<const double> predicted, std::span<const double> measured) {
  TESSERA_CHECK(!predicted.empty() && predicted.size() == measured.size(),
                "{} predictions of {} measurements", predicted.size(), measured.size());
  std::vector<double> ratios;
  for (size_t i = 0; i < predicted.size(); ++i) {
    TESSERA_CHECK(predicted[i] > 0 && measured[i] > 0,
                  "{} s predicted, {} s measured; expected above 0", predicted[i], measured[i]);
    ratios.push_back(measured[i] / predicted[i]);
  }
  return {Correlation(RanksOf(predicted), RanksOf(measured)), MedianError(predicted, measured, 1),
          MedianError(predicted, measured, MedianOf(std::move(ratios)))};
}

}  // namespace tessera
