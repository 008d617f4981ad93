#ifndef TESSERA_QUANT_RANGE_SEARCH_H_
#define TESSERA_QUANT_RANGE_SEARCH_H_
// A range to quantize a row by that is narrower than [min, max]. Few numbers lie far out; cutting
// them costs less than a finer grid gains for all others, most so with 2 and 4 bits.
//
// Greedy, as torch's _choose_qparams_optimized: of the width of [min, max] a 64th is cut off on
// that side where the smaller error is left, again and again, down to a quarter; the best range met
// is taken, [min, max] being the first.
//
//   error = Σ (x − value(code(x)))² over the row, f32, in lane order (runtime/numbers/lanes.h)
#include "quant/value_range.h"

namespace tessera::internal {

// of(range) are the parameters of a range, error(params) those of the row whose range is `range`.
// On a GPU a whole warp calls this, and error gives the same to all of it.
template <typename Of, typename Error>
TESSERA_HD auto SearchRange(const ValueRange& range, const Of& of, const Error& error) {
  constexpr int kSteps = 64, kLeast = 16;
  const float min = range.min(), max = range.max(), step = (max - min) / kSteps;
  const auto params_of = [&](int from_min, int from_max) {
    ValueRange part;
    part.Add(min + static_cast<float>(from_min) * step);
    part.Add(max - static_cast<float>(from_max) * step);
    return of(part);
  };
  auto best = of(range);
  if (!(step > 0.0f) || step - step != 0.0f) return best;
  float best_error = error(best);
  for (int from_min = 0, from_max = 0; from_min + from_max < kSteps - kLeast;) {
    const auto low = params_of(from_min + 1, from_max), high = params_of(from_min, from_max + 1);
    const float low_error = error(low), high_error = error(high);
    const bool cut_low = low_error < high_error;
    (cut_low ? from_min : from_max) += 1;
    const float least = cut_low ? low_error : high_error;
    if (!(least < best_error)) continue;
    best_error = least;
    best = cut_low ? low : high;
  }
  return best;
}

}  // namespace tessera::internal
#endif  // TESSERA_QUANT_RANGE_SEARCH_H_
