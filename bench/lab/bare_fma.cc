#include "bench/lab/bare_fma.h"

#include "runtime/numbers/simd.h"

namespace tessera::bench {

void BareFma::Run(int64_t part, int64_t parts) const {
  using internal::native::Pack;
  constexpr int kChains = 12;
  const int64_t steps = multiply_adds / parts / (kChains * Pack::kSize);
  Pack sum[kChains];
  TESSERA_UNROLL
  for (Pack& s : sum) s = Pack(0.0f);
  const Pack a = Pack(sums[part]), b = Pack(0.5f);
  for (int64_t i = 0; i < steps; ++i) {
    TESSERA_UNROLL
    for (Pack& s : sum) s = Fma(s, a, b);
  }
  for (int c = 1; c < kChains; ++c) sum[0] = sum[0] + sum[c];
  sums[part] = sum[0].Fold() > 0 ? 0.25f : 0.0f;
}

}  // namespace tessera::bench
