#ifndef TESSERA_RUNTIME_OPS_KERNELS_SERIAL_LANES_H_
#define TESSERA_RUNTIME_OPS_KERNELS_SERIAL_LANES_H_
// Who runs the lanes of runtime/numbers/lanes.h in a computation of a row that is written once: one
// thread in turn (SerialLanes), or a warp (WarpLanes in warp_lanes.cuh). Both have
//
//   Sum(n, term)   Σ_{i<n} term(i) in the order of the lanes, known to all of them
//   Max(n, term)   the largest term(i), −∞ for n = 0
//   Each(n, fn)    fn(i) for i < n; no lane goes on before all are done
//   first()        whether this is the lane that writes what the row has once
//
// In the namespace of the instruction set, as all that is compiled more than once (tools/isa.bzl).
#include <cstdint>
#include <limits>

#include "runtime/ops/kernels/vector_math.h"

#ifndef TESSERA_ISA
#define TESSERA_ISA native
#endif

namespace tessera::internal {
namespace TESSERA_ISA {

struct SerialLanes {
  template <typename Term>
  auto Sum(int64_t n, Term term) const {
    return SumInLanes(n, term);
  }
  template <typename Term>
  float Max(int64_t n, Term term) const {
    float largest = -std::numeric_limits<float>::infinity();
    for (int64_t i = 0; i < n; ++i) largest = term(i) > largest ? term(i) : largest;
    return largest;
  }
  template <typename Fn>
  void Each(int64_t n, Fn fn) const {
    for (int64_t i = 0; i < n; ++i) fn(i);
  }
  bool first() const { return true; }
};

}  // namespace TESSERA_ISA
}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_OPS_KERNELS_SERIAL_LANES_H_
