#include "planner/step_model/cost_curve.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

// The first point that lies beyond `at`.
size_t Above(const CostCurve& curve, double at) {
  const auto beyond = [](double x, const CostPoint& p) { return x < p.at; };
  return static_cast<size_t>(std::upper_bound(curve.begin(), curve.end(), at, beyond) -
                             curve.begin());
}

double Between(double a, double b, double share) { return a + (b - a) * share; }

}  // namespace

double PriceAt(const CostCurve& curve, double at) {
  if (curve.empty()) return 0;
  const size_t i = Above(curve, at);
  if (i == 0) return curve.front().seconds;
  if (i == curve.size()) return curve.back().seconds;
  const CostPoint &low = curve[i - 1], &high = curve[i];
  if (low.at <= 0) return Between(low.seconds, high.seconds, at / high.at);
  return Between(low.seconds, high.seconds, std::log(at / low.at) / std::log(high.at / low.at));
}

double SlopeOf(const CostCurve& curve) {
  if (curve.size() < 2) return 0;
  const CostPoint &low = curve[curve.size() - 2], &high = curve.back();
  return std::max(0.0, (high.seconds - low.seconds) / (high.at - low.at));
}

double TimeAt(const CostCurve& curve, double at) {
  if (curve.empty()) return 0;
  const size_t i = Above(curve, at);
  if (i == 0) return curve.front().seconds;
  if (i == curve.size()) return curve.back().seconds + (at - curve.back().at) * SlopeOf(curve);
  const CostPoint &low = curve[i - 1], &high = curve[i];
  return Between(low.seconds, high.seconds, (at - low.at) / (high.at - low.at));
}

double RowPrice(const RowPriceTable& table, double row_bytes, double working_set) {
  if (table.empty()) return 0;
  const auto beyond = [](double x, const RowPrices& p) {
    return x < static_cast<double>(p.row_bytes);
  };
  size_t i = static_cast<size_t>(std::upper_bound(table.begin(), table.end(), row_bytes, beyond) -
                                 table.begin());
  if (i == 0 || table.size() == 1) return PriceAt(table.front().by_working_set, working_set);
  i = std::min(i, table.size() - 1);
  const RowPrices &low = table[i - 1], &high = table[i];
  const auto from = static_cast<double>(low.row_bytes), to = static_cast<double>(high.row_bytes);
  const double a = PriceAt(low.by_working_set, working_set),
               b = PriceAt(high.by_working_set, working_set);
  return row_bytes > to ? b + std::max(0.0, b - a) * (row_bytes - to) / (to - from)
                        : Between(a, b, (row_bytes - from) / (to - from));
}

}  // namespace tessera
