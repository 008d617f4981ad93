#ifndef TESSERA_PLANNER_STEP_MODEL_COST_CURVE_H_
#define TESSERA_PLANNER_STEP_MODEL_COST_CURVE_H_
// Costs that were measured at a few places, and what lies between them. Plain data.
#include <cstdint>
#include <vector>

namespace tessera {

struct CostPoint {
  double at = 0;  // bytes, rows or flops: what the curve is over
  double seconds = 0;

  friend bool operator==(const CostPoint&, const CostPoint&) = default;
};
using CostCurve = std::vector<CostPoint>;  // `at` rises

// The price of one thing: between two points straight in log(at), beyond the ends flat; 0 without
// points.
double PriceAt(const CostCurve& curve, double at);

// The time of one call that takes `at` in all: between two points straight, beyond the last as
// between the last two (never falling), before the first flat; 0 without points.
double TimeAt(const CostCurve& curve, double at);
// Seconds a unit of `at` where a call is large: the slope of the last two points, at least 0.
double SlopeOf(const CostCurve& curve);

// Prices of a row of so many bytes, by the bytes that are in use at the same time (which caches
// hold or do not).
struct RowPrices {
  int64_t row_bytes = 0;
  CostCurve by_working_set;

  friend bool operator==(const RowPrices&, const RowPrices&) = default;
};
using RowPriceTable = std::vector<RowPrices>;  // row_bytes rise

// Straight in row_bytes between two entries and beyond the last; before the first as the first; 0
// for an empty table.
double RowPrice(const RowPriceTable& table, double row_bytes, double working_set);

}  // namespace tessera
#endif  // TESSERA_PLANNER_STEP_MODEL_COST_CURVE_H_
