// One instruction of a warp: which lanes run, what it does, and where they go next.
#include <algorithm>

#include "tools/ptx/execute/lanes.h"
#include "tools/ptx/warp.h"

namespace ptx {
namespace {

LaneMask LanesAt(const Warp& w, LaneMask among, uint32_t place) {
  LaneMask lanes = 0;
  ForLanes(among,
           [&](int l) { lanes |= LaneMask{w.places[static_cast<size_t>(l)] == place} << l; });
  return lanes;
}
void Send(Warp& w, LaneMask lanes, uint32_t place) {
  ForLanes(lanes, [&](int l) { w.places[static_cast<size_t>(l)] = place; });
}

// Lanes that are apart go on from the lowest place first: so they meet again behind branches.
bool ChooseLowest(Warp& w) {
  const LaneMask ready = w.ready();
  if (ready == 0) return false;
  w.place = w.next_stop = ~0u;
  ForLanes(ready, [&](int l) { w.place = std::min(w.place, w.places[static_cast<size_t>(l)]); });
  w.running = LanesAt(w, ready, w.place);
  ForLanes(ready & ~w.running,
           [&](int l) { w.next_stop = std::min(w.next_stop, w.places[static_cast<size_t>(l)]); });
  return true;
}
// Any place, and sometimes not all lanes of it: hardware promises no more.
bool ChooseRandom(Warp& w, Schedule& schedule) {
  const LaneMask ready = w.ready();
  if (ready == 0) return false;
  LaneMask lanes = ready;
  for (uint32_t skip = schedule.Below(static_cast<uint32_t>(std::popcount(ready))); skip > 0;
       --skip)
    lanes &= lanes - 1;
  w.place = w.places[static_cast<size_t>(std::countr_zero(lanes))];
  w.next_stop = ~0u;
  w.running = LanesAt(w, ready, w.place);
  const LaneMask some = w.running & (schedule.Below(1 << 16) << 16 | schedule.Below(1 << 16));
  if (schedule.Below(4) == 0 && some != 0) w.running = some;
  return true;
}

LaneMask Guarded(Warp& w, const Instruction& i) {
  if (i.guard < 0) return w.running;
  const uint64_t* guard = w.slot(i.guard);
  LaneMask lanes = 0;
  ForLanes(w.running,
           [&](int l) { lanes |= LaneMask{((guard[l] & 1) != 0) != i.guard_negated} << l; });
  return lanes;
}

void Branch(Warp& w, LaneMask taken, uint32_t target) {
  if (taken == w.running) {
    w.place = target;
  } else if (taken == 0) {
    ++w.place;
  } else {
    Send(w, w.running & ~taken, w.place + 1);
    Send(w, taken, target);
    w.running = 0;
  }
}

void BranchByTable(Warp& w, const Instruction& i, LaneMask taken) {
  const uint64_t* index = Source(w, i, 0);
  Send(w, w.running & ~taken, w.place + 1);
  ForLanes(taken, [&](int l) {
    if (index[l] >= i.targets.size())
      Fail(w, i, l,
           "branch " + std::to_string(index[l]) + " of a table of " +
               std::to_string(i.targets.size()));
    w.places[static_cast<size_t>(l)] = static_cast<uint32_t>(i.targets[index[l]]);
  });
  w.running = 0;
}

void Exit(Warp& w, LaneMask lanes) {
  w.exited |= lanes;
  w.running &= ~lanes;
  ++w.place;
  Park(w);
  CompleteMeetings(w);
}

void WaitAtBarrier(Warp& w, const Instruction& i, LaneMask lanes) {
  ++w.place;
  Park(w);
  const uint64_t* which = Source(w, i, i.Has("red") ? 1 : 0);
  ForLanes(lanes, [&](int l) { w.barrier[static_cast<size_t>(l)] = static_cast<int>(which[l]); });
  w.at_barrier |= lanes;
}

void Meet(Warp& w, const Instruction& i, LaneMask lanes) {
  const uint64_t* members = Source(w, i.operands.back());
  bool complete = lanes == w.running;
  ForLanes(lanes, [&](int l) {
    const auto mask = static_cast<LaneMask>(members[l]);
    if ((mask >> l & 1) == 0) Fail(w, i, l, "a lane is not in the mask that it gives");
    w.members[static_cast<size_t>(l)] = mask;
    complete = complete && (mask & w.live()) == lanes;
  });
  if (complete) {
    i.execute(w, i, lanes);
    ++w.place;
    return;
  }
  Send(w, w.running & ~lanes, w.place + 1);
  Send(w, lanes, w.place);
  w.running = 0;
  w.at_meeting |= lanes;
  CompleteMeetings(w);
}

bool IsPlainBarrier(const Instruction& i) { return i.opcode[0] == 'b'; }  // bar.warp.sync

// The waiting lanes that a lane can meet: of the same mask and instruction, but warp barriers meet
// wherever they stand.
LaneMask Partners(const Warp& w, int lane) {
  const auto& code = w.block->function.code;
  const uint32_t place = w.places[static_cast<size_t>(lane)];
  LaneMask partners = 0;
  ForLanes(w.at_meeting, [&](int l) {
    const uint32_t other = w.places[static_cast<size_t>(l)];
    const bool same_call =
        other == place || (IsPlainBarrier(code[place]) && IsPlainBarrier(code[other]));
    const bool same_mask =
        w.members[static_cast<size_t>(l)] == w.members[static_cast<size_t>(lane)];
    partners |= LaneMask{same_call && same_mask} << l;
  });
  return partners;
}

}  // namespace

void Park(Warp& w) {
  Send(w, w.running, w.place);
  w.running = 0;
}

void CompleteMeetings(Warp& w) {
  for (LaneMask left = w.at_meeting; left != 0;) {
    const int lane = std::countr_zero(left);
    const LaneMask partners = Partners(w, lane);
    left &= ~partners;
    const LaneMask wanted = w.members[static_cast<size_t>(lane)] & w.live();
    if ((partners & wanted) != wanted) continue;
    const Instruction& i = w.block->function.code[w.places[static_cast<size_t>(lane)]];
    i.execute(w, i, partners);
    ForLanes(partners, [&](int l) { ++w.places[static_cast<size_t>(l)]; });
    w.at_meeting &= ~partners;
  }
}

bool Step(Warp& w, Schedule& schedule, Flow* flow) {
  if (w.running == 0 && !(schedule.random ? ChooseRandom(w, schedule) : ChooseLowest(w)))
    return false;
  const Instruction& i = w.block->function.code[w.place];
  const LaneMask lanes = Guarded(w, i);
  if (i.execute == nullptr && lanes != 0)
    Fail(w, i, std::countr_zero(lanes), "the interpreter does not know this instruction");
  *flow = i.flow;
  switch (i.flow) {
    case Flow::kNext:
    case Flow::kYield:
      if (lanes != 0) i.execute(w, i, lanes);
      ++w.place;
      break;
    case Flow::kBranch:
      Branch(w, lanes, static_cast<uint32_t>(i.operands[0].target));
      break;
    case Flow::kTable:
      BranchByTable(w, i, lanes);
      break;
    case Flow::kExit:
      Exit(w, lanes);
      break;
    case Flow::kBlockBarrier:
      WaitAtBarrier(w, i, lanes);
      break;
    case Flow::kMeeting:
      if (lanes != 0)
        Meet(w, i, lanes);
      else
        ++w.place;
      break;
  }
  const bool apart = w.place >= w.next_stop || (schedule.random && schedule.Below(8) == 0);
  if (w.running != 0 && (apart || i.flow == Flow::kYield)) Park(w);
  return true;
}

}  // namespace ptx
