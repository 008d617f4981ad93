#ifndef TESSERA_TOOLS_PTX_EXECUTE_LANES_H_
#define TESSERA_TOOLS_PTX_EXECUTE_LANES_H_
// Building blocks of the families of instructions: operands of all lanes, values of C++'s types in
// registers of 64 bits, and loops over lanes.
#include <bit>
#include <cstdint>
#include <type_traits>

#include "tools/ptx/warp.h"

namespace ptx {

template <typename F>
inline void ForLanes(LaneMask lanes, F&& f) {
  if (lanes == ~0u) {
    for (int l = 0; l < kLanes; ++l) f(l);
  } else {
    for (; lanes != 0; lanes &= lanes - 1) f(std::countr_zero(lanes));
  }
}

// An operand's values, once for each lane.
inline const uint64_t* Source(Warp& warp, const Operand& o) {
  return o.immediate ? o.immediate.get() : warp.slot(o.reg);
}
inline const uint64_t* Source(Warp& warp, const Instruction& i, size_t k) {
  return Source(warp, i.operands[k]);
}
// Where results go; `_` takes and forgets them.
inline uint64_t* Result(Warp& warp, const Operand& o) {
  static thread_local uint64_t nowhere[kLanes];
  return o.reg < 0 ? nowhere : warp.slot(o.reg);
}
inline uint64_t* Result(Warp& warp, const Instruction& i) { return Result(warp, i.operands[0]); }
inline bool Truth(const Operand& o, uint64_t value) { return ((value & 1) != 0) != o.negated; }

template <typename T>
inline T Get(uint64_t bits) {
  if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
  else if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<double>(bits);
  else
    return static_cast<T>(bits);
}
// A float that is no number has the bits that the hardware makes.
template <typename T>
inline uint64_t Put(T v) {
  if constexpr (std::is_same_v<T, float>)
    return v != v ? 0x7fffffffu : std::bit_cast<uint32_t>(v);
  else if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<uint64_t>(v);
  else
    return static_cast<std::make_unsigned_t<T>>(v);
}

// result = F(a), F(a, b), F(a, b, c), in T, a lane at a time.
template <typename T, auto F>
void Unary(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t* a = Source(warp, i, 1);
  uint64_t* r = Result(warp, i);
  ForLanes(lanes, [&](int l) { r[l] = Put<T>(static_cast<T>(F(Get<T>(a[l])))); });
}
template <typename T, auto F>
void Binary(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t *a = Source(warp, i, 1), *b = Source(warp, i, 2);
  uint64_t* r = Result(warp, i);
  ForLanes(lanes, [&](int l) { r[l] = Put<T>(static_cast<T>(F(Get<T>(a[l]), Get<T>(b[l])))); });
}
template <typename T, auto F>
void Ternary(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t *a = Source(warp, i, 1), *b = Source(warp, i, 2), *c = Source(warp, i, 3);
  uint64_t* r = Result(warp, i);
  ForLanes(lanes, [&](int l) {
    r[l] = Put<T>(static_cast<T>(F(Get<T>(a[l]), Get<T>(b[l]), Get<T>(c[l]))));
  });
}

// f(T{}) with the integer of an instruction's type; null for another type.
template <typename F>
Execute ForInteger(Type t, F f) {
  if (t.is_real() || t.pair) return nullptr;
  const bool s = t.is_signed();
  switch (t.bytes) {
    case 1:
      return s ? f(int8_t{}) : f(uint8_t{});
    case 2:
      return s ? f(int16_t{}) : f(uint16_t{});
    case 4:
      return s ? f(int32_t{}) : f(uint32_t{});
    case 8:
      return s ? f(int64_t{}) : f(uint64_t{});
    default:
      return nullptr;
  }
}
// f(float{}) or f(double{}) in the same way.
template <typename F>
Execute ForReal(Type t, F f) {
  if (t.Is(Kind::kReal, 4)) return f(float{});
  if (t.Is(Kind::kReal, 8)) return f(double{});
  return nullptr;
}
template <typename F>
Execute ForNumber(Type t, F f) {
  return t.is_real() ? ForReal(t, f) : ForInteger(t, f);
}

// T without a sign, of 32 bits at least, so that sums and products wrap.
template <typename T>
using Wrapping = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;
// T with twice the bits.
template <typename T>
using Twice =
    std::conditional_t<sizeof(T) == 8,
                       std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>,
                       std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;

// The low bits of v that a type has.
inline uint64_t Truncated(Type t, uint64_t v) {
  return t.bytes >= 8 ? v : v & ((uint64_t{1} << t.bytes * 8) - 1);
}
inline uint64_t SignExtended(Type t, uint64_t v) {
  const int rest = 64 - t.bytes * 8;
  return static_cast<uint64_t>(static_cast<int64_t>(v << rest) >> rest);
}
// The value of an integer of that type.
inline uint64_t Extended(Type t, uint64_t v) {
  return t.is_signed() ? SignExtended(t, v) : Truncated(t, v);
}

}  // namespace ptx
#endif  // TESSERA_TOOLS_PTX_EXECUTE_LANES_H_
