#include "bench/limits/fma_loop.h"

#include "runtime/numbers/simd.h"

namespace tessera::bench {
namespace {

using internal::native::Pack;
constexpr int64_t kChains = 12;  // with the factors they fit the 16 registers of AVX2

// The library's Fma without the instruction goes through doubles.
inline Pack MultiplyAdd(Pack a, Pack b, Pack c) {
#if defined(__FMA__) || defined(__aarch64__)
  return Fma(a, b, c);
#else
  return a * b + c;
#endif
}

}  // namespace

int64_t FmaLoop::OperationsOfStep() { return 2 * kChains * Pack::kSize; }

void FmaLoop::Run(int64_t part, int64_t) const {
  const Pack factor(0.999f), term(0.001f);  // every chain goes to 1
  Pack chain[kChains];
  for (int64_t c = 0; c < kChains; ++c) chain[c] = Pack(static_cast<float>(c));
  for (int64_t step = 0; step < steps; ++step)
    for (int64_t c = 0; c < kChains; ++c) chain[c] = MultiplyAdd(chain[c], factor, term);
  for (int64_t c = 1; c < kChains; ++c) chain[0] = chain[0] + chain[c];
  sums[part] = chain[0].Fold();
}

}  // namespace tessera::bench
