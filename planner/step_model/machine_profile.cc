#include "planner/step_model/machine_profile.h"

#include <cmath>

#include "runtime/base/check.h"

namespace tessera {
namespace {

constexpr CollectiveOp kOps[] = {CollectiveOp::kNumbers,        CollectiveOp::kAllToAll,
                                 CollectiveOp::kAllGather,      CollectiveOp::kAllReduce,
                                 CollectiveOp::kAllToAllInside, CollectiveOp::kAllToAllBetween};

// The measured group that comes nearest, by ratio, among those that `fits` takes; null if none
// does.
template <typename T, typename Fits>
const T* Nearest(const std::vector<T>& groups, int ranks, const Fits& fits) {
  const T* best = nullptr;
  const auto distance = [&](const T& group) {
    return std::abs(std::log(static_cast<double>(group.ranks) / ranks));
  };
  for (const T& group : groups)
    if (fits(group) && (best == nullptr || distance(group) < distance(*best))) best = &group;
  return best;
}

const CollectivePrices* NearestOf(const MachineProfile& profile, CollectiveOp op, int ranks) {
  if (ranks <= 1) return nullptr;
  const auto fits = [op](const CollectivePrices& c) {
    return c.op == op && c.ranks > 1 && !c.by_bytes.empty();
  };
  const CollectivePrices* nearest = Nearest(profile.collectives, ranks, fits);
  const bool of_nodes = op == CollectiveOp::kAllToAllInside || op == CollectiveOp::kAllToAllBetween;
  return nearest == nullptr && of_nodes ? NearestOf(profile, CollectiveOp::kAllToAll, ranks)
                                        : nearest;
}

}  // namespace

std::optional<WireCodec> UnpricedCodec(const MachineProfile& profile, const WireCodecs& codecs) {
  for (const WireCodec& codec : {codecs.forward, codecs.backward, codecs.dense})
    if (codec.type != WireType::kFp32 && !profile.codecs.contains(codec.type)) return codec;
  return std::nullopt;
}

const std::array<std::string, kInputItems>& InputItemNames() {
  static const std::array<std::string, kInputItems> names = {
      "call",          "segment",  "checked_id", "moved_id",
      "split_segment", "split_id", "split_bag",  "moved_bag"};
  return names;
}

const std::array<std::string, kOutputItems>& OutputItemNames() {
  static const std::array<std::string, kOutputItems> names = {"call", "block", "block_row",
                                                              "block_byte", "returned_byte"};
  return names;
}

std::string ToString(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::kNumbers:
      return "numbers";
    case CollectiveOp::kAllToAll:
      return "all_to_all";
    case CollectiveOp::kAllGather:
      return "all_gather";
    case CollectiveOp::kAllReduce:
      return "all_reduce";
    case CollectiveOp::kAllToAllInside:
      return "all_to_all_inside";
    case CollectiveOp::kAllToAllBetween:
      return "all_to_all_between";
  }
  TESSERA_FAIL("unknown CollectiveOp {}", static_cast<int>(op));
}

CollectiveOp ParseCollectiveOp(const std::string& name) {
  std::string names;
  for (const CollectiveOp op : kOps) {
    if (ToString(op) == name) return op;
    names += (names.empty() ? "" : ", ") + ToString(op);
  }
  throw Error(Format("collective \"{}\"; expected one of {}", name, names));
}

double DenseSeconds(const MachineProfile& profile, double flops) {
  CostCurve times;
  for (const CostPoint& p : profile.dense) times.push_back({p.at, p.at * p.seconds});
  return TimeAt(times, flops);
}

double CollectiveSeconds(const MachineProfile& profile, CollectiveOp op, int ranks, double bytes) {
  const CollectivePrices* nearest = NearestOf(profile, op, ranks);
  if (nearest == nullptr) return 0;
  const double seconds = TimeAt(nearest->by_bytes, bytes);
  const double latency = nearest->by_bytes.front().seconds;
  if (ranks <= nearest->ranks) return seconds;
  return seconds + latency * (static_cast<double>(ranks - 1) / (nearest->ranks - 1) - 1);
}

double CollectiveSlope(const MachineProfile& profile, CollectiveOp op, int ranks) {
  const CollectivePrices* nearest = NearestOf(profile, op, ranks);
  return nearest == nullptr ? 0 : SlopeOf(nearest->by_bytes);
}

StepOverhead OverheadOf(const MachineProfile& profile, int ranks) {
  const StepOverhead* nearest =
      Nearest(profile.steps, ranks, [](const StepOverhead&) { return true; });
  return nearest == nullptr ? StepOverhead{} : *nearest;
}

}  // namespace tessera
