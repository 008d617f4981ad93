// Comparisons, and choices by their results.
#include <array>

#include "tools/ptx/execute/families.h"
#include "tools/ptx/execute/lanes.h"

namespace ptx {
namespace {

// Those that end in u are true for NaNs; of integers, lo, ls, hi and hs are lt, le, gt and ge.
constexpr std::array kRelations = {"eq",  "ne",  "lt",  "le",  "gt",  "ge", "equ", "neu", "ltu",
                                   "leu", "gtu", "geu", "num", "nan", "lo", "ls",  "hi",  "hs"};

template <typename T>
bool Holds(int relation, T a, T b) {
  const bool ordered = a == a && b == b;
  switch (relation) {
    case 0:
      return a == b;
    case 1:
      return ordered && a != b;
    case 2:
    case 14:
      return a < b;
    case 3:
    case 15:
      return a <= b;
    case 4:
    case 16:
      return a > b;
    case 5:
    case 17:
      return a >= b;
    case 6:
      return !ordered || a == b;
    case 7:
      return a != b;
    case 8:
      return !(a >= b);
    case 9:
      return !(a > b);
    case 10:
      return !(a <= b);
    case 11:
      return !(a < b);
    case 12:
      return ordered;
    default:
      return !ordered;
  }
}

enum class Combine : uint8_t { kNone, kAnd, kOr, kXor };
Combine CombineOf(const Instruction& i) {
  return i.operands.size() < 4 ? Combine::kNone
         : i.Has("and")        ? Combine::kAnd
         : i.Has("or")         ? Combine::kOr
                               : Combine::kXor;
}
bool Combined(Combine how, bool a, bool b) {
  switch (how) {
    case Combine::kNone:
      return a;
    case Combine::kAnd:
      return a && b;
    case Combine::kOr:
      return a || b;
    default:
      return a != b;
  }
}

// setp: a predicate, and a second one of the opposite relation.
template <typename T>
void SetPredicates(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t *a = Source(warp, i, 1), *b = Source(warp, i, 2);
  const Combine how = CombineOf(i);
  const uint64_t* c = how == Combine::kNone ? nullptr : Source(warp, i, 3);
  uint64_t* r = Result(warp, i);
  uint64_t* opposite = i.operands[0].second < 0 ? nullptr : warp.slot(i.operands[0].second);
  ForLanes(lanes, [&](int l) {
    const bool holds = Holds<T>(i.choice, Get<T>(a[l]), Get<T>(b[l]));
    const bool other = c != nullptr && Truth(i.operands[3], c[l]);
    r[l] = Combined(how, holds, other);
    if (opposite != nullptr) opposite[l] = Combined(how, !holds, other);
  });
}
// set: all bits, or 1.0.
template <typename T>
void SetValue(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t *a = Source(warp, i, 1), *b = Source(warp, i, 2);
  uint64_t* r = Result(warp, i);
  const uint64_t yes = i.type.is_real() ? Put(1.0f) : 0xffffffffu;
  ForLanes(lanes, [&](int l) { r[l] = Holds<T>(i.choice, Get<T>(a[l]), Get<T>(b[l])) ? yes : 0; });
}

void Select(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t *a = Source(warp, i, 1), *b = Source(warp, i, 2), *c = Source(warp, i, 3);
  uint64_t* r = Result(warp, i);
  ForLanes(lanes,
           [&](int l) { r[l] = Truncated(i.type, Truth(i.operands[3], c[l]) ? a[l] : b[l]); });
}
template <typename T>
void SelectBySign(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t *a = Source(warp, i, 1), *b = Source(warp, i, 2), *c = Source(warp, i, 3);
  uint64_t* r = Result(warp, i);
  ForLanes(lanes, [&](int l) { r[l] = Truncated(i.type, Get<T>(c[l]) >= 0 ? a[l] : b[l]); });
}

}  // namespace

Execute FindComparison(Instruction& i) {
  if (i.opcode == "selp") return Select;
  if (i.opcode == "slct") {
    if (i.type2.Is(Kind::kSigned, 4)) return SelectBySign<int32_t>;
    return i.type2.Is(Kind::kReal, 4) ? SelectBySign<float> : nullptr;
  }
  while (i.choice < kRelations.size() && !i.Has(kRelations[i.choice])) ++i.choice;
  if (i.choice == kRelations.size() || i.flush) return nullptr;
  if (i.opcode == "setp")
    return ForNumber(i.type, [](auto t) -> Execute { return SetPredicates<decltype(t)>; });
  if (i.type.bytes != 4 || i.operands.size() > 3) return nullptr;
  return ForNumber(i.type2, [](auto t) -> Execute { return SetValue<decltype(t)>; });
}

}  // namespace ptx
