#ifndef TESSERA_METRICS_FORMULAS_RATIO_H_
#define TESSERA_METRICS_FORMULAS_RATIO_H_
// Quotients as metrics take them, and predictions of a model that saw only some of the negatives.

namespace tessera {

// 0 where there is nothing to divide by.
inline double RatioOrZero(double a, double b) { return b == 0 ? 0 : a / b; }

// p / (p + (1 − p)/c), where negatives were kept with probability c.
inline double Recalibrated(double p, double c) { return p / (p + (1 - p) / c); }

}  // namespace tessera
#endif  // TESSERA_METRICS_FORMULAS_RATIO_H_
