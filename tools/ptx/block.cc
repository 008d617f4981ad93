// Blocks: what their threads find when they begin, and turns of their warps.
#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>

#include "tools/ptx/execute/lanes.h"
#include "tools/ptx/warp.h"

namespace ptx {
namespace {

constexpr char kFresh = static_cast<char>(0xcd);  // what memory holds where nobody wrote

std::string Text(const Extent3& e) {
  return "(" + std::to_string(e.x) + ", " + std::to_string(e.y) + ", " + std::to_string(e.z) + ")";
}
Extent3 Place(uint32_t number, const Extent3& extent) {
  return {number % extent.x, number / extent.x % extent.y, number / extent.x / extent.y};
}

// In the order of the names in parse_function.cc.
void SetSpecials(Warp& warp) {
  const Block& b = *warp.block;
  for (int l = 0; l < kLanes; ++l) {
    const Extent3 thread = Place(b.thread(warp, l), b.extent);
    const LaneMask own = LaneMask{1} << l, below = own - 1;
    const uint64_t dynamic = b.shared_bytes - b.function.dynamic_shared;
    const uint64_t values[kSpecials] = {thread.x,
                                        thread.y,
                                        thread.z,
                                        b.extent.x,
                                        b.extent.y,
                                        b.extent.z,
                                        b.id.x,
                                        b.id.y,
                                        b.id.z,
                                        b.grid.x,
                                        b.grid.y,
                                        b.grid.z,
                                        static_cast<uint64_t>(l),
                                        static_cast<uint64_t>(warp.index),
                                        own,
                                        below,
                                        below | own,
                                        ~(below | own),
                                        ~below,
                                        dynamic,
                                        0,
                                        0,
                                        0,
                                        0};
    for (int k = 0; k < kSpecials; ++k)
      if (b.function.special[k] >= 0) warp.slot(b.function.special[k])[l] = values[k];
  }
}

void BeginWarp(Warp& w) {
  w.exited = w.at_barrier = w.at_meeting = w.running = 0;
  w.places.fill(0);
  w.copy_group.fill(0);
  for (auto& copies : w.copies) copies.clear();
  w.pending = 0;
  std::fill(w.local.begin(), w.local.end(), kFresh);
  SetSpecials(w);
}

bool RunWarp(Warp& warp, Schedule& schedule) {
  const uint32_t most = schedule.random ? 1 + schedule.Below(64) : 4000;
  Flow flow = Flow::kNext;
  for (uint32_t n = 0; n < most; ++n) {
    if (schedule.random && warp.pending > 0 && schedule.Below(8) == 0) ArriveEarly(warp, schedule);
    if (!Step(warp, schedule, &flow)) return n > 0;
    if (flow == Flow::kYield) break;
  }
  return true;
}

[[noreturn]] void FailStuck(const Block& block) {
  for (const Warp& w : block.warps) {
    if (w.live() == 0) continue;
    const int lane = std::countr_zero(w.live());
    const bool barrier = w.at_barrier >> lane & 1;
    const uint32_t place = w.places[static_cast<size_t>(lane)] - (barrier ? 1 : 0);
    Fail(w, block.function.code[place], lane,
         barrier ? "it waits at a barrier that not all threads reach"
                 : "it waits for lanes of its mask that do not come");
  }
  throw std::logic_error("a block without live threads is stuck");
}

// Who waits at one barrier.
struct Arrived {
  uint32_t threads = 0, needed = 0, yes = 0;
};

const Instruction& BarrierOf(const Block& block, const Warp& w, int lane) {
  return block.function.code[w.places[static_cast<size_t>(lane)] - 1];
}

void Arrive(Block& block, Warp& w, int lane, Arrived& all) {
  const Instruction& i = BarrierOf(block, w, lane);
  ++all.threads;
  if (i.Has("red")) {
    const Operand& p = i.operands.back();
    all.yes += Truth(p, Source(w, p)[lane]);
    if (i.operands.size() > 3) all.needed = static_cast<uint32_t>(Source(w, i, 2)[lane]);
  } else if (i.operands.size() > 1) {
    all.needed = static_cast<uint32_t>(Source(w, i, 1)[lane]);
  }
}

void Release(Block& block, Warp& w, int lane, const Arrived& all) {
  const Instruction& i = BarrierOf(block, w, lane);
  w.at_barrier &= ~(LaneMask{1} << lane);
  if (!i.Has("red")) return;
  Result(w, i)[lane] = i.Has("popc")  ? all.yes
                       : i.Has("and") ? all.yes == all.threads
                                      : all.yes > 0;
}

}  // namespace

void Fail(const Warp& warp, const Instruction& i, int lane, const std::string& what) {
  const Block& b = *warp.block;
  std::string where = b.function.Where(i.source);
  if (!where.empty()) where = " at " + where;
  throw std::logic_error("kernel " + PlainName(b.function.name) + ", block " + Text(b.id) +
                         ", thread " + Text(Place(b.thread(warp, lane), b.extent)) + where + ": " +
                         what + " (PTX line " + std::to_string(i.line) + ": " + i.text + ")");
}

Block::Block(const Function& f, Extent3 grid_extent, Extent3 block_extent, uint64_t dynamic_bytes,
             const char* arguments)
    : function(f),
      grid(grid_extent),
      extent(block_extent),
      shared_bytes(f.dynamic_shared + dynamic_bytes),
      params(arguments) {
  const uint32_t threads = extent.count(), n = (threads + kLanes - 1) / kLanes;
  const size_t per_warp = static_cast<size_t>(std::max(f.slots, 1)) * kLanes;
  shared.resize(shared_bytes + 1);  // an address of its own if there is none
  shared_written.resize(shared.size());
  registers.assign(n * per_warp, 0xcdcdcdcdcdcdcdcd);
  order.resize(n);
  std::iota(order.begin(), order.end(), size_t{0});
  warps.resize(n);
  for (uint32_t k = 0; k < n; ++k) {
    Warp& w = warps[k];
    const uint32_t rest = threads - k * kLanes;
    w.block = this;
    w.index = static_cast<int>(k);
    w.registers = registers.data() + k * per_warp;
    w.exists = rest >= kLanes ? ~LaneMask{0} : (LaneMask{1} << rest) - 1;
    w.local.resize(f.local_bytes * kLanes);
  }
}

void Block::Begin(uint32_t number) {
  id = Place(number, grid);
  std::fill(shared.begin(), shared.end(), kFresh);
  std::fill(shared_written.begin(), shared_written.end(), char{0});
  for (Warp& w : warps) BeginWarp(w);
}

void Block::Advance(Schedule& schedule) {
  if (schedule.random) std::shuffle(order.begin(), order.end(), schedule.generator);
  bool moved = false;
  for (const size_t k : order) {
    moved |= RunWarp(warps[k], schedule);
    for (Warp& w : warps)
      if (schedule.random && w.pending > 0 && schedule.Below(4) == 0) ArriveEarly(w, schedule);
  }
  if (!moved && !ReleaseBarriers(*this)) FailStuck(*this);
}

bool Block::done() const {
  return std::all_of(warps.begin(), warps.end(), [](const Warp& w) { return w.live() == 0; });
}

bool ReleaseBarriers(Block& block) {
  uint32_t live = 0;
  std::map<int, Arrived> barriers;
  for (Warp& w : block.warps) {
    live += static_cast<uint32_t>(std::popcount(w.live()));
    ForLanes(w.at_barrier,
             [&](int l) { Arrive(block, w, l, barriers[w.barrier[static_cast<size_t>(l)]]); });
  }
  std::erase_if(barriers, [&](const auto& b) {
    return b.second.threads < (b.second.needed > 0 ? b.second.needed : live);
  });
  for (Warp& w : block.warps) {
    ForLanes(w.at_barrier, [&](int l) {
      const auto complete = barriers.find(w.barrier[static_cast<size_t>(l)]);
      if (complete != barriers.end()) Release(block, w, l, complete->second);
    });
    Park(w);
  }
  return !barriers.empty();
}

}  // namespace ptx
