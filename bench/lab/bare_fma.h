#ifndef TESSERA_BENCH_LAB_BARE_FMA_H_
#define TESSERA_BENCH_LAB_BARE_FMA_H_
// The limit that a machine's arithmetic sets to products of matrices: so many fused multiply-adds
// of f32 in registers, chains enough to hide their latency, and no memory. Compiled for the machine
// at hand (-march=native).
#include <cstdint>

namespace tessera::bench {

struct BareFma {
  int64_t multiply_adds;
  float* sums;  // [parts], so that the compiler keeps the work
  void Run(int64_t part, int64_t parts) const;
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LAB_BARE_FMA_H_
