// Arithmetic on integers. Sums and products wrap; add.cc and its kin hand a carry on.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "tools/ptx/execute/families.h"
#include "tools/ptx/execute/lanes.h"

namespace ptx {
namespace {

template <typename T>
T Quotient(T x, T y) {
  if (y == 0) return static_cast<T>(-1);
  if (std::is_signed_v<T> && y == static_cast<T>(-1)) return static_cast<T>(0 - Wrapping<T>(x));
  return static_cast<T>(x / y);
}
template <typename T>
T Remainder(T x, T y) {
  if (y == 0) return x;
  if (std::is_signed_v<T> && y == static_cast<T>(-1)) return 0;
  return static_cast<T>(x % y);
}
template <typename T>
T HighProduct(T x, T y) {
  return static_cast<T>(Twice<T>(x) * Twice<T>(y) >> (sizeof(T) * 8));
}
template <typename T>
uint64_t WideProduct(uint64_t a, uint64_t b) {
  const auto product = static_cast<uint64_t>(Twice<T>(Get<T>(a)) * Twice<T>(Get<T>(b)));
  return sizeof(T) == 2 ? static_cast<uint32_t>(product) : product;
}

template <typename T>
void MulWide(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t *a = Source(warp, i, 1), *b = Source(warp, i, 2);
  uint64_t* r = Result(warp, i);
  ForLanes(lanes, [&](int l) { r[l] = WideProduct<T>(a[l], b[l]); });
}
template <typename T>
void MadWide(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t *a = Source(warp, i, 1), *b = Source(warp, i, 2), *c = Source(warp, i, 3);
  uint64_t* r = Result(warp, i);
  ForLanes(lanes, [&](int l) {
    const uint64_t sum = WideProduct<T>(a[l], b[l]) + c[l];
    r[l] = sizeof(T) == 2 ? static_cast<uint32_t>(sum) : sum;
  });
}

bool TakesCarry(const Instruction& i) { return i.opcode.back() == 'c'; }  // addc, subc, madc

// x ± y ± the carry; the carry that comes out is kept with .cc. A subtraction adds the complement,
// so its carry is 1 where nothing is borrowed: nvcc's division of 128 bits takes it up by addc.
template <typename T>
uint64_t WithCarry(const Instruction& i, T x, T y, bool subtract, uint8_t& carry) {
  using Wide = unsigned __int128;
  const Wide in = TakesCarry(i) ? carry : subtract ? 1 : 0;
  const Wide sum = Wide{x} + static_cast<T>(subtract ? ~y : y) + in;
  if (i.Has("cc")) carry = static_cast<uint8_t>(sum >> (sizeof(T) * 8) & 1);
  return static_cast<T>(sum);
}
template <typename T>
void AddCarry(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t *a = Source(warp, i, 1), *b = Source(warp, i, 2);
  uint64_t* r = Result(warp, i);
  const bool subtract = i.opcode[0] == 's';
  ForLanes(lanes, [&](int l) {
    r[l] =
        WithCarry<T>(i, Get<T>(a[l]), Get<T>(b[l]), subtract, warp.carry[static_cast<size_t>(l)]);
  });
}
template <typename T>
void MadCarry(Warp& warp, const Instruction& i, LaneMask lanes) {
  using U = std::make_unsigned_t<T>;
  const uint64_t *a = Source(warp, i, 1), *b = Source(warp, i, 2), *c = Source(warp, i, 3);
  uint64_t* r = Result(warp, i);
  const int shift = i.Has("hi") ? static_cast<int>(sizeof(T)) * 8 : 0;
  ForLanes(lanes, [&](int l) {
    const Twice<T> product = Twice<T>(Get<T>(a[l])) * Twice<T>(Get<T>(b[l]));
    r[l] = WithCarry<U>(i, static_cast<U>(product >> shift), Get<U>(c[l]), false,
                        warp.carry[static_cast<size_t>(l)]);
  });
}

Execute FindWithCarry(const Instruction& i) {
  return ForInteger(i.type, [&](auto t) -> Execute {
    using T = decltype(t);
    if (i.opcode[0] == 'm') return MadCarry<T>;
    return AddCarry<std::make_unsigned_t<T>>;
  });
}

template <typename T>
Execute FindProduct(const Instruction& i) {
  if constexpr (sizeof(T) < 8)
    if (i.Has("wide")) return MulWide<T>;
  if (i.Has("hi")) return Binary<T, [](T x, T y) { return HighProduct(x, y); }>;
  if (i.Has("lo")) return Binary<T, [](T x, T y) { return Wrapping<T>(x) * Wrapping<T>(y); }>;
  return nullptr;
}
template <typename T>
Execute FindProductAndSum(const Instruction& i) {
  if constexpr (sizeof(T) < 8)
    if (i.Has("wide")) return MadWide<T>;
  if (i.Has("hi"))
    return Ternary<T,
                   [](T x, T y, T z) { return Wrapping<T>(HighProduct(x, y)) + Wrapping<T>(z); }>;
  if (i.Has("lo"))
    return Ternary<T,
                   [](T x, T y, T z) { return Wrapping<T>(x) * Wrapping<T>(y) + Wrapping<T>(z); }>;
  return nullptr;
}

template <typename T>
Execute FindPlain(const Instruction& i) {
  const std::string& op = i.opcode;
  if (op == "add") return Binary<T, [](T x, T y) { return Wrapping<T>(x) + Wrapping<T>(y); }>;
  if (op == "sub") return Binary<T, [](T x, T y) { return Wrapping<T>(x) - Wrapping<T>(y); }>;
  if (op == "mul") return FindProduct<T>(i);
  if (op == "mad") return FindProductAndSum<T>(i);
  if (op == "div") return Binary<T, Quotient<T>>;
  if (op == "rem") return Binary<T, Remainder<T>>;
  if (op == "min") return Binary<T, [](T x, T y) { return std::min(x, y); }>;
  if (op == "max") return Binary<T, [](T x, T y) { return std::max(x, y); }>;
  if (op == "abs")
    return Unary<T, [](T x) { return x < 0 ? static_cast<T>(0 - Wrapping<T>(x)) : x; }>;
  if (op == "neg") return Unary<T, [](T x) { return 0 - Wrapping<T>(x); }>;
  return nullptr;
}

}  // namespace

Execute FindInteger(Instruction& i) {
  if (i.saturate || i.Has("relu")) return nullptr;
  if (i.Has("cc") || TakesCarry(i)) return FindWithCarry(i);
  return ForInteger(i.type, [&](auto t) { return FindPlain<decltype(t)>(i); });
}

}  // namespace ptx
