#include "planner/rank_rules.h"

#include <algorithm>
#include <set>

#include "planner/model/planner_error.h"
#include "runtime/base/joined.h"

namespace tessera::internal {
namespace {

[[noreturn]] void RefuseCap(const std::string& why) {
  throw PlannerError(PlannerErrorKind::kPlacementRules, "placement rules: rank_caps: " + why);
}

void CheckCap(const Topology& topology, const RankCap& cap) {
  if (cap.rank < 0 || cap.rank >= topology.world_size)
    RefuseCap(Format("there are ranks 0 to {}, got {}", topology.world_size - 1, cap.rank));
  if (!cap.hbm && !cap.ddr) RefuseCap(Format("rank {}: expected hbm or ddr, got none", cap.rank));
  if (cap.hbm.value_or(0) < 0 || cap.ddr.value_or(0) < 0)
    RefuseCap(Format("rank {}: expected bytes of at least 0, got {}", cap.rank,
                     std::min(cap.hbm.value_or(0), cap.ddr.value_or(0))));
}

// Returns what a cap leaves to tables beside the dense part and batches. A cap of 0 keeps tables
// away.
int64_t LeftUnder(int rank, const char* memory, int64_t cap, int64_t taken) {
  if (cap > 0 && cap < taken)
    RefuseCap(
        Format("rank {}: expected {} of at least the {} bytes that the dense part and "
               "batches take there, or 0 for no tables, got {}",
               rank, memory, taken, cap));
  return std::max<int64_t>(0, cap - taken);
}

}  // namespace

std::vector<Storage> Capped(const Topology& topology, const ReservedMemory& reserved,
                            const PlacementRules& rules) {
  const int64_t taken = reserved.dense_bytes + reserved.kjt_bytes;
  const bool cpu = topology.compute_device == ComputeDevice::kCpu;
  std::vector<Storage> capacity = reserved.capacity;
  std::set<int> capped;
  for (const RankCap& cap : rules.rank_caps) {
    CheckCap(topology, cap);
    if (!capped.insert(cap.rank).second) RefuseCap(Format("rank {} comes twice", cap.rank));
  }
  for (const RankCap& cap : rules.rank_caps) {
    Storage& rank = capacity[static_cast<size_t>(cap.rank)];
    if (cap.hbm)
      rank.hbm = std::min(rank.hbm, LeftUnder(cap.rank, "hbm", *cap.hbm, cpu ? 0 : taken));
    if (cap.ddr)
      rank.ddr = std::min(rank.ddr, LeftUnder(cap.rank, "ddr", *cap.ddr, cpu ? taken : 0));
  }
  return capacity;
}

void CheckCapsOfCpus(const std::vector<RankCap>& caps) {
  for (const RankCap& cap : caps)
    if (cap.hbm)
      RefuseCap(Format("hbm of rank {} beside ranks that are CPUs, which have none; expected ddr",
                       cap.rank));
}

void CheckApart(const PlacementRules& rules, int ranks) {
  constexpr size_t kShown = 5;  // tables, at most
  for (const std::vector<std::string>& tables : rules.apart)
    if (std::ssize(tables) > ranks)
      throw PlannerError(
          PlannerErrorKind::kPlacementRules,
          Format(
              "placement rules: apart: {} tables ({}) cannot lie apart on {} ranks; name at most "
              "as many tables as there are ranks, or use more ranks",
              tables.size(), JoinedFirst(tables, kShown), ranks));
}

}  // namespace tessera::internal
