// Fields of bits, counts of bits, and bytes put together anew.
#include <algorithm>
#include <bit>
#include <type_traits>

#include "tools/ptx/execute/families.h"
#include "tools/ptx/execute/lanes.h"

namespace ptx {
namespace {

// `bits` bits of x from `from` on, and above them 0 or, with a sign, the last of them.
template <typename T>
uint64_t Field(uint64_t x, int from, int bits) {
  constexpr int kTop = sizeof(T) * 8 - 1;
  const uint64_t above =
      std::is_signed_v<T> && bits > 0 ? x >> std::min(from + bits - 1, kTop) & 1 : 0;
  uint64_t result = 0;
  for (int k = 0; k <= kTop; ++k)
    result |= (k < bits && from + k <= kTop ? x >> (from + k) & 1 : above) << k;
  return result;
}
template <typename T>
void ExtractField(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t *a = Source(warp, i, 1), *b = Source(warp, i, 2), *c = Source(warp, i, 3);
  uint64_t* r = Result(warp, i);
  ForLanes(lanes, [&](int l) {
    r[l] = Field<T>(Truncated(i.type, a[l]), static_cast<int>(b[l] & 255),
                    static_cast<int>(c[l] & 255));
  });
}
// The low bits of a, in place of those of b.
template <typename T>
void InsertField(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t *a = Source(warp, i, 1), *b = Source(warp, i, 2), *from = Source(warp, i, 3),
                 *bits = Source(warp, i, 4);
  uint64_t* r = Result(warp, i);
  ForLanes(lanes, [&](int l) {
    const uint64_t first = from[l] & 255, n = bits[l] & 255;
    uint64_t result = Truncated(i.type, b[l]);
    for (uint64_t k = 0; k < n && first + k < sizeof(T) * 8; ++k)
      result = (result & ~(uint64_t{1} << (first + k))) | (a[l] >> k & 1) << (first + k);
    r[l] = result;
  });
}

template <typename U>
uint64_t Reversed(U x) {
  U result = 0;
  for (size_t k = 0; k < sizeof(U) * 8; ++k) result = static_cast<U>(result << 1 | (x >> k & 1));
  return result;
}
// The place of the highest bit that differs from the sign, or how far it is from the top.
template <typename T>
uint64_t HighestBit(T value, bool from_top) {
  using U = std::make_unsigned_t<T>;
  const U x = static_cast<U>(value < 0 ? ~value : value);
  if (x == 0) return 0xffffffffu;
  const int above = std::countl_zero(x);
  return static_cast<uint64_t>(from_top ? above : static_cast<int>(sizeof(T)) * 8 - 1 - above);
}

template <typename T, auto F>
void Count(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t* a = Source(warp, i, 1);
  uint64_t* r = Result(warp, i);
  ForLanes(lanes, [&](int l) { r[l] = static_cast<uint64_t>(F(Get<T>(a[l]))); });
}
template <typename T>
Execute FindCount(const Instruction& i) {
  using U = std::make_unsigned_t<T>;
  if (i.opcode == "popc") return Count<U, [](U x) { return std::popcount(x); }>;
  if (i.opcode == "clz") return Count<U, [](U x) { return std::countl_zero(x); }>;
  if (i.opcode == "brev") return Count<U, Reversed<U>>;
  if (i.Has("shiftamt")) return Count<T, [](T x) { return HighestBit(x, true); }>;
  return Count<T, [](T x) { return HighestBit(x, false); }>;
}

// Ones from bit a on, b of them.
void Mask(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t *a = Source(warp, i, 1), *b = Source(warp, i, 2);
  uint64_t* r = Result(warp, i);
  const bool clamp = i.Has("clamp");
  ForLanes(lanes, [&](int l) {
    const auto x = static_cast<uint32_t>(a[l]), y = static_cast<uint32_t>(b[l]);
    const uint64_t first = clamp ? std::min(x, 32u) : x & 31;
    const uint64_t n = clamp ? std::min(y, 32u) : y & 31;
    r[l] = static_cast<uint32_t>(((uint64_t{1} << n) - 1) << first);
  });
}
// The low b bits of a, extended.
template <bool kSigned>
void ExtendLow(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t *a = Source(warp, i, 1), *b = Source(warp, i, 2);
  uint64_t* r = Result(warp, i);
  const bool clamp = i.Has("clamp");
  ForLanes(lanes, [&](int l) {
    const auto y = static_cast<uint32_t>(b[l]);
    const int n = static_cast<int>(clamp ? std::min(y, 32u) : y & 31);
    using T = std::conditional_t<kSigned, int32_t, uint32_t>;
    r[l] = Field<T>(static_cast<uint32_t>(a[l]), 0, n);
  });
}
// Each byte of the result is one of the eight of a and b, or its sign.
void Permute(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t *a = Source(warp, i, 1), *b = Source(warp, i, 2), *c = Source(warp, i, 3);
  uint64_t* r = Result(warp, i);
  ForLanes(lanes, [&](int l) {
    const uint64_t both = b[l] << 32 | static_cast<uint32_t>(a[l]);
    uint64_t result = 0;
    for (int k = 0; k < 4; ++k) {
      const uint64_t which = c[l] >> 4 * k & 15;
      uint64_t byte = both >> 8 * (which & 7) & 255;
      if (which & 8) byte = byte & 128 ? 255 : 0;
      result |= byte << 8 * k;
    }
    r[l] = result;
  });
}

}  // namespace

Execute FindBitFields(Instruction& i) {
  const std::string& op = i.opcode;
  if (op == "prmt") return i.modifiers.empty() ? Permute : nullptr;
  if (op == "bmsk") return Mask;
  if (op == "szext") return i.type.is_signed() ? ExtendLow<true> : ExtendLow<false>;
  if (i.type.bytes < 4) return nullptr;
  return ForInteger(i.type, [&](auto t) -> Execute {
    using T = decltype(t);
    if (op == "bfe") return ExtractField<T>;
    if (op == "bfi") return InsertField<T>;
    return FindCount<T>(i);
  });
}

}  // namespace ptx
