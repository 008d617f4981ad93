// Logic and shifts, of bits and of predicates.
#include <algorithm>

#include "tools/ptx/execute/families.h"
#include "tools/ptx/execute/lanes.h"

namespace ptx {
namespace {

template <auto F>
void OnPredicates(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t *a = Source(warp, i, 1), *b = Source(warp, i, 2);
  uint64_t* r = Result(warp, i);
  ForLanes(lanes, [&](int l) { r[l] = F(Truth(i.operands[1], a[l]), Truth(i.operands[2], b[l])); });
}
void NotPredicate(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t* a = Source(warp, i, 1);
  uint64_t* r = Result(warp, i);
  ForLanes(lanes, [&](int l) { r[l] = !Truth(i.operands[1], a[l]); });
}
Execute FindOnPredicates(const std::string& op) {
  if (op == "and") return OnPredicates<[](bool x, bool y) { return x && y; }>;
  if (op == "or") return OnPredicates<[](bool x, bool y) { return x || y; }>;
  if (op == "xor") return OnPredicates<[](bool x, bool y) { return x != y; }>;
  return op == "not" ? NotPredicate : nullptr;
}

// Shifts by the width or more leave nothing, or the sign.
template <typename T>
void ShiftLeft(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t *a = Source(warp, i, 1), *b = Source(warp, i, 2);
  uint64_t* r = Result(warp, i);
  ForLanes(lanes, [&](int l) {
    const auto n = static_cast<uint32_t>(b[l]);
    r[l] = n >= sizeof(T) * 8 ? 0 : Truncated(i.type, a[l] << n);
  });
}
template <typename T>
void ShiftRight(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t *a = Source(warp, i, 1), *b = Source(warp, i, 2);
  uint64_t* r = Result(warp, i);
  constexpr uint32_t kBits = sizeof(T) * 8;
  ForLanes(lanes, [&](int l) {
    const auto n = static_cast<uint32_t>(b[l]);
    const T x = Get<T>(a[l]);
    const T gone = x < 0 ? static_cast<T>(-1) : T{0};
    r[l] = Put<T>(n >= kBits ? gone : static_cast<T>(x >> n));
  });
}

// 64 bits of two registers, of which the upper or the lower 32 stay.
template <bool kLeft>
void FunnelShift(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t *a = Source(warp, i, 1), *b = Source(warp, i, 2), *c = Source(warp, i, 3);
  uint64_t* r = Result(warp, i);
  const bool wrap = i.Has("wrap");
  ForLanes(lanes, [&](int l) {
    const auto by = static_cast<uint32_t>(c[l]);
    const uint32_t n = wrap ? by & 31 : std::min(by, 32u);
    const uint64_t both = b[l] << 32 | static_cast<uint32_t>(a[l]);
    r[l] = static_cast<uint32_t>(kLeft ? both << n >> 32 : both >> n);
  });
}

// Bit 4a + 2b + c of the table is the result for bits a, b, c.
void LookUp3(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t *a = Source(warp, i, 1), *b = Source(warp, i, 2), *c = Source(warp, i, 3);
  uint64_t* r = Result(warp, i);
  const uint64_t table = Source(warp, i, 4)[0];
  ForLanes(lanes, [&](int l) {
    uint64_t result = 0;
    for (int k = 0; k < 8; ++k)
      if (table >> k & 1)
        result |= (k & 4 ? a[l] : ~a[l]) & (k & 2 ? b[l] : ~b[l]) & (k & 1 ? c[l] : ~c[l]);
    r[l] = static_cast<uint32_t>(result);
  });
}

}  // namespace

Execute FindBits(Instruction& i) {
  const std::string& op = i.opcode;
  if (i.type.kind == Kind::kPredicate) return FindOnPredicates(op);
  if (op == "lop3") return i.type.bytes == 4 && i.operands.size() == 5 ? LookUp3 : nullptr;
  if (op == "shf") return i.Has("l") ? FunnelShift<true> : FunnelShift<false>;
  return ForInteger(i.type, [&](auto t) -> Execute {
    using T = decltype(t);
    if (op == "and") return Binary<T, [](T x, T y) { return x & y; }>;
    if (op == "or") return Binary<T, [](T x, T y) { return x | y; }>;
    if (op == "xor") return Binary<T, [](T x, T y) { return x ^ y; }>;
    if (op == "not") return Unary<T, [](T x) { return ~x; }>;
    if (op == "shl") return ShiftLeft<T>;
    if (op == "shr") return ShiftRight<T>;
    return nullptr;
  });
}

}  // namespace ptx
