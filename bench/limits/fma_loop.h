#ifndef TESSERA_BENCH_LIMITS_FMA_LOOP_H_
#define TESSERA_BENCH_LIMITS_FMA_LOOP_H_
// Fused multiply-adds of f32 in registers, as many chains of them as hide how long one takes: the
// most operations a second that a core does (-march=native). Without an instruction for it, a
// product and a sum.
#include <cstdint>

namespace tessera::bench {

struct FmaLoop {
  int64_t steps;  // of one part
  float* sums;    // [parts], so that the compiler keeps the work

  // Does as many multiply-adds as a product of matrices.
  static FmaLoop Of(int64_t multiply_adds, int64_t parts, float* sums) {
    return {2 * multiply_adds / (parts * OperationsOfStep()), sums};
  }
  // Returns those of one step of one part. A fused multiply-add is two.
  static int64_t OperationsOfStep();
  void Run(int64_t part, int64_t parts) const;
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LIMITS_FMA_LOOP_H_
