#include "bench/harness/passes.h"

#include <algorithm>

#include "bench/harness/compare.h"
#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

bool IsPrecise(const Measurement& row, double precision) {
  return row.Passes() >= kLeastPasses && LeastFoundChange(row) <= precision;
}

}  // namespace

int RoundsOfPass(int rounds, int passes, int pass) {
  if (pass >= passes) return std::max(1, rounds / passes);
  const auto until = [&](int64_t count) { return static_cast<int>(rounds * count / passes); };
  return until(pass + 1) - until(pass);
}

bool WantsPass(const Measurement& row, double precision) {
  return precision > 0 && row.Passes() < kMaxPasses && !IsPrecise(row, precision);
}

std::string ImpreciseText(const Measurement& row, double precision) {
  if (precision == 0 || row.Passes() < kMaxPasses || IsPrecise(row, precision)) return "";
  return Format("{}: after {} passes a change is found from {:.1f} % on", row.contender,
                row.Passes(), 100 * LeastFoundChange(row));
}

}  // namespace tessera::bench
