#ifndef TESSERA_SPARSE_OPS_DIVIDER_H_
#define TESSERA_SPARSE_OPS_DIVIDER_H_
// Division by a number that many others are divided by, on host and device.
#include <cstdint>

#include "runtime/base/host_device.h"

namespace tessera::internal {

__extension__ typedef unsigned __int128 UInt128;

// u div d by a product where both are below 2^32 (exact: the magic number has 64 bits), several
// times faster.
class Divider {
 public:
  TESSERA_HD explicit Divider(uint64_t d)
      : d_(d), magic_(d > 1 && d >> 32 == 0 ? ~uint64_t{0} / d + 1 : 0) {}
  TESSERA_HD uint64_t operator()(uint64_t u) const {
    if (magic_ != 0 && u >> 32 == 0)
      return static_cast<uint64_t>(static_cast<UInt128>(magic_) * u >> 64);
    return d_ == 1 ? u : u / d_;
  }
  struct Parts {
    int64_t quotient, rest;
  };
  // REQUIRES: n >= 0.
  TESSERA_HD Parts Split(int64_t n) const {
    const auto quotient = static_cast<int64_t>((*this)(static_cast<uint64_t>(n)));
    return {quotient, n - quotient * static_cast<int64_t>(d_)};
  }
  TESSERA_HD uint64_t divisor() const { return d_; }

 private:
  uint64_t d_, magic_;
};

}  // namespace tessera::internal
#endif  // TESSERA_SPARSE_OPS_DIVIDER_H_
