#ifndef TESSERA_RUNTIME_BASE_DIVISION_H_
#define TESSERA_RUNTIME_BASE_DIVISION_H_
// Quotients that are rounded up. REQUIRES of both: n is not negative, the unit is above 0, and
// their sum does not overflow.
#include <cstdint>

#include "runtime/base/host_device.h"

namespace tessera::internal {

// Units that n fills, the last perhaps in part: ⌈n / unit⌉.
TESSERA_HD constexpr int64_t CeilDiv(int64_t n, int64_t unit) { return (n + unit - 1) / unit; }

// The least multiple of `unit` that is not below n.
TESSERA_HD constexpr int64_t RoundUp(int64_t n, int64_t unit) { return CeilDiv(n, unit) * unit; }

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_BASE_DIVISION_H_
