#ifndef TESSERA_QUANT_VALUE_RANGE_H_
#define TESSERA_QUANT_VALUE_RANGE_H_
// The smallest and the largest number of a row, in an order of all bit patterns: −NaN < −∞ < … < −0
// < +0 < … < ∞ < NaN. So the order in which a row is read does not matter, a loop over it
// vectorizes, and a NaN anywhere shows in the range.
#include <bit>
#include <cstdint>

#include "runtime/base/host_device.h"

namespace tessera {

struct ValueRange {
  int32_t low = INT32_MAX, high = INT32_MIN;  // keys: floats whose order is that of integers

  // Takes a float's bits, or a vector of them, which no GPU has: hence constexpr, not TESSERA_HD.
  template <typename Bits>
  [[gnu::always_inline]] static constexpr Bits KeyOf(Bits bits) {
    return bits ^ (bits >> 31 & 0x7fffffff);
  }
  TESSERA_HD static int32_t Key(float x) { return KeyOf(std::bit_cast<int32_t>(x)); }
  TESSERA_HD static float FromKey(int32_t key) { return std::bit_cast<float>(KeyOf(key)); }
  TESSERA_HD void Add(float x) { Join(Key(x), Key(x)); }
  TESSERA_HD void Join(int32_t other_low, int32_t other_high) {
    low = other_low < low ? other_low : low;
    high = other_high > high ? other_high : high;
  }
  TESSERA_HD float min() const { return FromKey(low); }
  TESSERA_HD float max() const { return FromKey(high); }
  // The bits of the largest magnitude.
  TESSERA_HD uint32_t magnitude_bits() const {
    const uint32_t a = std::bit_cast<uint32_t>(min()) & 0x7fffffffu,
                   b = std::bit_cast<uint32_t>(max()) & 0x7fffffffu;
    return a > b ? a : b;
  }
};

}  // namespace tessera
#endif  // TESSERA_QUANT_VALUE_RANGE_H_
