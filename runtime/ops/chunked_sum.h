#ifndef TESSERA_RUNTIME_OPS_CHUNKED_SUM_H_
#define TESSERA_RUNTIME_OPS_CHUNKED_SUM_H_
// Sums over many items whose bits don't depend on the number of threads: chunks of fixed length,
// folded in order, in double.
#include <vector>

#include "runtime/context.h"

namespace tessera::internal {

// Σ_i term(i) for i in [0, n).
template <typename Term>
double ChunkedSum(Context& ctx, int64_t n, Term&& term, int64_t chunk = 1024) {
  std::vector<double> partial(static_cast<size_t>((n + chunk - 1) / chunk));
  ParallelFor(ctx, n, chunk, [&](int64_t begin, int64_t end) {
    double sum = 0;
    for (int64_t i = begin; i < end; ++i) sum += term(i);
    partial[static_cast<size_t>(begin / chunk)] = sum;
  });
  double total = 0;
  for (double sum : partial) total += sum;
  return total;
}

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_OPS_CHUNKED_SUM_H_
