// cp.async: copies from global to shared memory. In order they are made only when their lane waits
// for them, so that whoever reads too early reads what nobody wrote; with a seed each is made at a
// random point before, so that whoever still reads what it writes over may find the new bytes.
#include <algorithm>
#include <cstring>
#include <vector>

#include "tools/ptx/execute/families.h"
#include "tools/ptx/execute/lanes.h"

namespace ptx {
namespace {

void Copy(Warp& warp, const Instruction& i, LaneMask lanes) {
  const auto bytes = static_cast<uint32_t>(Source(warp, i, 2)[0]);
  const uint64_t* asked = i.operands.size() > 3 ? Source(warp, i, 3) : nullptr;
  const auto bytes_of = [&](int l) {
    return asked == nullptr ? bytes : std::min(static_cast<uint32_t>(asked[l]), bytes);
  };
  LaneMask reading = 0;
  ForLanes(lanes, [&](int l) { reading |= LaneMask{bytes_of(l) > 0} << l; });
  char *to[kLanes], *from[kLanes] = {};
  Translate(warp, i, Space::kShared, i.operands[0], lanes, static_cast<int>(bytes), Access::kClaim,
            to);
  Translate(warp, i, Space::kGlobal, i.operands[1], reading, static_cast<int>(bytes), Access::kRead,
            from);
  ForLanes(lanes, [&](int l) {
    const auto lane = static_cast<size_t>(l);
    warp.copies[lane].push_back(
        {to[l], from[l], bytes_of(l), bytes - bytes_of(l), warp.copy_group[lane]});
    ++warp.pending;
  });
}

void Commit(Warp& warp, const Instruction&, LaneMask lanes) {
  ForLanes(lanes, [&](int l) { ++warp.copy_group[static_cast<size_t>(l)]; });
}

void Make(Block& block, const PendingCopy& c) {
  if (c.bytes > 0) std::memcpy(c.to, c.from, c.bytes);
  std::memset(c.to + c.bytes, 0, c.zeros);
  std::memset(block.shared_written.data() + (c.to - block.shared.data()), 1, c.bytes + c.zeros);
}

// Makes those of a lane's copies that `arrives` says yes to.
template <typename F>
void MakeIf(Warp& warp, size_t lane, F&& arrives) {
  warp.pending -= std::erase_if(warp.copies[lane], [&](const PendingCopy& c) {
    if (!arrives(c)) return false;
    Make(*warp.block, c);
    return true;
  });
}

// Waits until at most so many groups are on their way; with wait_all, for those in no group too.
void Wait(Warp& warp, const Instruction& i, LaneMask lanes) {
  const bool all = i.Has("wait_all");
  const int left = all ? 0 : static_cast<int>(Source(warp, i, 0)[0]);
  ForLanes(lanes, [&](int l) {
    const auto lane = static_cast<size_t>(l);
    const int until = all ? warp.copy_group[lane] + 1 : warp.copy_group[lane] - left;
    MakeIf(warp, lane, [&](const PendingCopy& c) { return c.group < until; });
  });
}

}  // namespace

void ArriveEarly(Warp& warp, Schedule& schedule) {
  for (size_t lane = 0; lane < kLanes; ++lane)
    MakeIf(warp, lane, [&](const PendingCopy&) { return schedule.Below(2) == 0; });
}

Execute FindAsyncCopy(Instruction& i) {
  if (!i.Has("async") || i.Has("bulk") || i.Has("mbarrier")) return nullptr;
  if (i.Has("commit_group")) return Commit;
  if (i.Has("wait_group") || i.Has("wait_all")) return Wait;
  const bool copies = i.operands.size() >= 3 && i.operands[2].immediate &&
                      (i.operands.size() == 3 || i.operands[3].kind != Operand::Kind::kLabel);
  return copies && i.operands.size() <= 4 ? Copy : nullptr;
}

}  // namespace ptx
