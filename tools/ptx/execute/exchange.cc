// Lanes of a warp tell each other values. Each instruction runs once all lanes of its mask have
// come.
#include <algorithm>
#include <cstdint>

#include "tools/ptx/execute/families.h"
#include "tools/ptx/execute/lanes.h"

namespace ptx {
namespace {

enum class Shuffle : uint8_t { kUp, kDown, kButterfly, kIndex };

struct From {
  int lane;
  bool valid;
};
// The lane that another reads: `clamp` bounds its number, `segment` are the bits that stay.
From SourceLane(Shuffle how, int lane, int b, int clamp, int segment) {
  const int most = (lane & segment) | (clamp & ~segment), least = lane & segment;
  switch (how) {
    case Shuffle::kUp:
      return {lane - b, lane - b >= most};
    case Shuffle::kDown:
      return {lane + b, lane + b <= most};
    case Shuffle::kButterfly:
      return {lane ^ b, (lane ^ b) <= most};
    default:
      return {least | (b & ~segment), (least | (b & ~segment)) <= most};
  }
}

void ShuffleLanes(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t *a = Source(warp, i, 1), *b = Source(warp, i, 2), *c = Source(warp, i, 3);
  uint64_t* r = Result(warp, i);
  uint64_t* valid = i.operands[0].second < 0 ? nullptr : warp.slot(i.operands[0].second);
  uint64_t values[kLanes];
  From from[kLanes];
  ForLanes(lanes, [&](int l) {
    from[l] = SourceLane(static_cast<Shuffle>(i.choice), l, static_cast<int>(b[l] & 31),
                         static_cast<int>(c[l] & 31), static_cast<int>(c[l] >> 8 & 31));
    const int source = from[l].valid ? from[l].lane : l;
    if ((lanes >> source & 1) == 0)
      Fail(warp, i, l,
           "a shuffle reads lane " + std::to_string(source) + ", which takes no part in it");
    values[l] = static_cast<uint32_t>(a[source]);
  });
  ForLanes(lanes, [&](int l) {
    r[l] = values[l];
    if (valid != nullptr) valid[l] = from[l].valid;
  });
}

LaneMask Ballot(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t* a = Source(warp, i, 1);
  LaneMask yes = 0;
  ForLanes(lanes, [&](int l) { yes |= LaneMask{Truth(i.operands[1], a[l])} << l; });
  return yes;
}
void Vote(Warp& warp, const Instruction& i, LaneMask lanes) {
  const LaneMask yes = Ballot(warp, i, lanes);
  const bool all = yes == lanes, any = yes != 0;
  const uint64_t result = i.Has("ballot") ? yes
                          : i.Has("all")  ? all
                          : i.Has("any")  ? any
                                          : all || !any;
  uint64_t* r = Result(warp, i);
  ForLanes(lanes, [&](int l) { r[l] = result; });
}

// match.any: the lanes with the same value; match.all: all lanes if they have the same one.
void Match(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t* a = Source(warp, i, 1);
  LaneMask same[kLanes] = {};
  ForLanes(lanes, [&](int l) {
    ForLanes(lanes, [&](int k) {
      same[l] |= LaneMask{Truncated(i.type, a[k]) == Truncated(i.type, a[l])} << k;
    });
  });
  uint64_t* r = Result(warp, i);
  uint64_t* equal = i.operands[0].second < 0 ? nullptr : warp.slot(i.operands[0].second);
  ForLanes(lanes, [&](int l) {
    const bool all = same[l] == lanes;
    r[l] = i.Has("any") ? same[l] : all ? lanes : 0;
    if (equal != nullptr) equal[l] = all;
  });
}

int64_t Reduced(Update update, int64_t x, int64_t y) {
  switch (update) {
    case Update::kAdd:
      return x + y;
    case Update::kMin:
      return std::min(x, y);
    case Update::kMax:
      return std::max(x, y);
    case Update::kAnd:
      return x & y;
    case Update::kOr:
      return x | y;
    default:
      return x ^ y;
  }
}
void Reduce(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t* a = Source(warp, i, 1);
  const int first = std::countr_zero(lanes);
  auto result = static_cast<int64_t>(Extended(i.type, a[first]));
  ForLanes(lanes & (lanes - 1), [&](int l) {
    result = Reduced(static_cast<Update>(i.choice), result,
                     static_cast<int64_t>(Extended(i.type, a[l])));
  });
  uint64_t* r = Result(warp, i);
  ForLanes(lanes, [&](int l) { r[l] = static_cast<uint32_t>(result); });
}

void ActiveMask(Warp& warp, const Instruction& i, LaneMask lanes) {
  uint64_t* r = Result(warp, i);
  ForLanes(lanes, [&](int l) { r[l] = lanes; });
}

}  // namespace

Execute FindExchange(Instruction& i) {
  const std::string& op = i.opcode;
  if (op == "activemask") return ActiveMask;
  if (!i.Has("sync")) return nullptr;
  i.flow = Flow::kMeeting;
  if (op == "vote") return Vote;
  if (op == "match") return Match;
  if (op == "redux") return i.type.is_real() || !ReadUpdate(i) ? nullptr : Reduce;
  for (const char* how : {"up", "down", "bfly", "idx"}) {
    if (i.Has(how)) return i.type.bytes == 4 ? ShuffleLanes : nullptr;
    ++i.choice;
  }
  return nullptr;
}

}  // namespace ptx
