// Atomic updates of memory. The lanes of a warp take turns in their order.
#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>
#include <type_traits>

#include "tools/ptx/execute/families.h"
#include "tools/ptx/execute/lanes.h"

namespace ptx {
namespace {

template <typename T>
T UpdatedInteger(Update update, T old, T x, T y) {
  switch (update) {
    case Update::kAdd:
      return static_cast<T>(Wrapping<T>(old) + Wrapping<T>(x));
    case Update::kMin:
      return std::min(old, x);
    case Update::kMax:
      return std::max(old, x);
    case Update::kAnd:
      return old & x;
    case Update::kOr:
      return old | x;
    case Update::kXor:
      return old ^ x;
    case Update::kExchange:
      return x;
    case Update::kSwap:
      return old == x ? y : old;
    case Update::kInc:
      return old >= x ? T{0} : static_cast<T>(old + 1);
    default:
      return old == 0 || old > x ? x : static_cast<T>(old - 1);
  }
}
template <typename T>
T Updated(Update update, T old, T x, T y) {
  if constexpr (std::is_integral_v<T>)
    return UpdatedInteger(update, old, x, y);
  else
    return update == Update::kAdd ? old + x : x;
}

template <typename T>
void Atomic(Warp& warp, const Instruction& i, LaneMask lanes) {
  const bool returns = i.opcode == "atom";
  const size_t at = returns ? 1 : 0;
  const auto update = static_cast<Update>(i.choice);
  char* places[kLanes];
  Translate(warp, i, i.space, i.operands[at], lanes, sizeof(T), Access::kUpdate, places);
  const uint64_t* x = Source(warp, i, at + 1);
  const uint64_t* y = update == Update::kSwap ? Source(warp, i, at + 2) : x;
  uint64_t* r = returns ? Result(warp, i) : Result(warp, Operand{});
  ForLanes(lanes, [&](int l) {
    T old;
    std::memcpy(&old, places[l], sizeof old);
    const T value = Updated(update, old, Get<T>(x[l]), Get<T>(y[l]));
    std::memcpy(places[l], &value, sizeof value);
    r[l] = Put(old);
  });
}

}  // namespace

bool ReadUpdate(Instruction& i) {
  static const std::map<std::string_view, Update> names = {
      {"add", Update::kAdd}, {"min", Update::kMin},       {"max", Update::kMax},
      {"and", Update::kAnd}, {"or", Update::kOr},         {"xor", Update::kXor},
      {"inc", Update::kInc}, {"exch", Update::kExchange}, {"cas", Update::kSwap},
      {"dec", Update::kDec}};
  for (const std::string& m : i.modifiers) {
    const auto found = names.find(m);
    if (found == names.end()) continue;
    i.choice = static_cast<uint8_t>(found->second);
    return true;
  }
  return false;
}

Execute FindAtomic(Instruction& i) {
  if (i.width != 1 || i.flush || i.Has("async") || !ReadUpdate(i)) return nullptr;
  const auto update = static_cast<Update>(i.choice);
  if (i.type.is_real() && update != Update::kAdd && update != Update::kExchange) return nullptr;
  return ForNumber(i.type, [](auto t) -> Execute { return Atomic<decltype(t)>; });
}

}  // namespace ptx
