#include "planner/step_model/step_model.h"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/base/check.h"
#include "sharding/coded_all_reduce.h"

namespace tessera {
namespace {

StepLoad Checked(StepLoad load) {
  for (StepTable& table : load.tables) {
    TESSERA_CHECK(table.rows > 0 && table.dim > 0, "table {}: {} rows of {}; expected above 0",
                  table.name, table.rows, table.dim);
    MeasuredRuleLike(table.rule);
    for (StepFeature& f : table.features) {
      TESSERA_CHECK(f.bags >= 0 && f.ids >= 0, "table {}: a feature with {} bags and {} ids",
                    table.name, f.bags, f.ids);
      if (f.popularity.groups.empty()) f.popularity.groups = UniformRows(table.rows).groups;
    }
  }
  return load;
}

RankLayout Checked(const RankLayout& layout) {
  CheckRanks({.world_size = layout.world_size, .local_size = layout.local_size, .tables = {}});
  return layout;
}

// The share of all ranks' rows that one rank's caches see: its node's share, by the node's ranks
// that run at a time.
double ShareOfCaches(const MachineProfile& profile, const RankLayout& layout) {
  const double nodes = layout.world_size / layout.local_size;
  const int at_a_time =
      profile.cores > 0 ? std::min(profile.cores, layout.local_size) : layout.local_size;
  return 1 / (nodes * at_a_time);
}

// The bytes of a codec beside those of f32.
double ShareOfFloats(const WireCodec& codec) {
  return static_cast<double>(EncodedBytes(codec, kRowOfCodec, kRowOfCodec)) /
         (static_cast<double>(kRowOfCodec) * sizeof(float));
}

double Larger(const WireBytes& bytes) { return std::max(bytes.sent, bytes.received); }

struct NamedPart {
  const char* name;
  double RankSeconds::*of;
};
// The fields of RankSeconds, work first.
constexpr NamedPart kParts[] = {{"input_dist", &RankSeconds::input_dist},
                                {"lookup", &RankSeconds::lookup},
                                {"other tiers", &RankSeconds::tiers},
                                {"output_dist", &RankSeconds::output_dist},
                                {"gradient_dist", &RankSeconds::gradient_dist},
                                {"update", &RankSeconds::update},
                                {"dense", &RankSeconds::dense},
                                {"reading of disks", &RankSeconds::disk},
                                {"exchange of ids", &RankSeconds::ids_wire},
                                {"exchange of rows", &RankSeconds::rows_wire},
                                {"exchange of gradients", &RankSeconds::gradients_wire},
                                {"exchange of dense gradients", &RankSeconds::dense_wire}};
// Those that are parts of others.
constexpr NodeWire RankSeconds::*kByNode[] = {&RankSeconds::rows_by_node,
                                              &RankSeconds::gradients_by_node};

// A rank's work between two exchanges, and its waiting for the second.
struct Phase {
  double work = 0, waiting = 0;
};

constexpr size_t kPhases = 3;

std::array<Phase, kPhases> PhasesOf(const RankSeconds& r) {
  return {Phase{r.update + r.input_dist, r.ids_wire},
          Phase{r.lookup + r.tiers, r.disk + r.rows_wire},
          Phase{r.output_dist + r.dense + r.gradient_dist, r.gradients_wire + r.dense_wire}};
}

// One phase of all ranks.
struct PhaseTime {
  double busiest = 0, shared = 0, waiting = 0;
};

PhaseTime TimeOf(size_t phase, std::span<const RankSeconds> ranks, int local_size, int cores,
                 int threads) {
  PhaseTime time;
  double node = 0;
  for (size_t r = 0; r < ranks.size(); ++r) {
    const Phase p = PhasesOf(ranks[r])[phase];
    if (r % static_cast<size_t>(local_size) == 0) node = 0;
    node += p.work;
    time.busiest = std::max(time.busiest, p.work);
    time.waiting = std::max(time.waiting, p.waiting);
    if (cores > 0) time.shared = std::max(time.shared, node * threads / cores);
  }
  return time;
}

}  // namespace

RankSeconds& RankSeconds::operator+=(const RankSeconds& other) {
  for (const NamedPart& part : kParts) this->*part.of += other.*part.of;
  for (const auto of : kByNode) {
    (this->*of).inside += (other.*of).inside;
    (this->*of).between += (other.*of).between;
  }
  return *this;
}

RankSeconds operator*(RankSeconds seconds, double factor) {
  for (const NamedPart& part : kParts) seconds.*part.of *= factor;
  for (const auto of : kByNode) {
    (seconds.*of).inside *= factor;
    (seconds.*of).between *= factor;
  }
  return seconds;
}

std::vector<std::pair<std::string, double>> PartsOf(const RankSeconds& seconds) {
  std::vector<std::pair<std::string, double>> parts;
  for (const NamedPart& part : kParts) parts.emplace_back(part.name, seconds.*part.of);
  return parts;
}

std::string LargestPart(const RankSeconds& seconds) {
  const auto less = [&](const NamedPart& a, const NamedPart& b) {
    return seconds.*a.of < seconds.*b.of;
  };
  return std::max_element(std::begin(kParts), std::end(kParts), less)->name;
}

StepModel::StepModel(MachineProfile profile, StepLoad load, RankLayout layout)
    : profile_(std::move(profile)),
      load_(Checked(std::move(load))),
      layout_(Checked(layout)),
      working_set_(load_, layout_.world_size, ShareOfCaches(profile_, layout_)) {}

RankSeconds StepModel::SecondsOf(const RankWork& work) const {
  RankSeconds s;
  s.input_dist = Price(profile_.input_dist, work.input);
  s.lookup = work.lookup;
  s.output_dist = Price(profile_.output_dist, work.output) + work.output_codec;
  s.gradient_dist = Price(profile_.gradient_dist, work.gradient) + work.gradient_codec;
  s.update = work.update;
  s = s * OverheadOf(profile_, layout_.world_size).factor;
  s.tiers = work.tiers;
  s.disk = work.disk;
  return s;
}

double StepModel::DirectSeconds(const RouteBytes& bytes, const PlanWork& plan) const {
  if (plan.by_node && !plan.direct) return 0;
  return CollectiveSeconds(profile_, CollectiveOp::kAllToAll, layout_.world_size,
                           Larger(bytes.direct));
}

NodeWire StepModel::NodeSeconds(const RouteBytes& bytes, const PlanWork& plan) const {
  if (!plan.by_node) return {};
  const int local = layout_.local_size, nodes = layout_.world_size / local;
  return {
      CollectiveSeconds(profile_, CollectiveOp::kAllToAllInside, local, Larger(bytes.inside)),
      CollectiveSeconds(profile_, CollectiveOp::kAllToAllBetween, nodes, Larger(bytes.between))};
}

void StepModel::AddWire(const RankWork& work, const PlanWork& plan, RankSeconds& s) const {
  const auto seconds = [&](CollectiveOp op, double bytes) {
    return CollectiveSeconds(profile_, op, layout_.world_size, bytes);
  };
  s.ids_wire +=
      seconds(CollectiveOp::kNumbers, 0) + seconds(CollectiveOp::kAllToAll, Larger(work.ids));
  s.rows_by_node = NodeSeconds(work.rows, plan);
  s.gradients_by_node = NodeSeconds(work.gradients, plan);
  s.rows_wire += DirectSeconds(work.rows, plan) + s.rows_by_node.seconds();
  s.gradients_wire += DirectSeconds(work.gradients, plan) + s.gradients_by_node.seconds();
  if (!plan.replicas) return;
  s.ids_wire += seconds(CollectiveOp::kNumbers, 0) + seconds(CollectiveOp::kAllToAll, 0);
  s.gradients_wire += seconds(CollectiveOp::kAllGather, work.gathered);
}

void StepModel::AddDense(RankSeconds& s) const {
  const double factor = OverheadOf(profile_, layout_.world_size).dense_factor;
  for (const double flops : load_.dense_flops) s.dense += factor * DenseSeconds(profile_, flops);
  if (load_.dense_bytes > 0)
    s.dense_wire += CollectiveSeconds(profile_, CollectiveOp::kAllReduce, layout_.world_size,
                                      load_.dense_bytes * ShareOfFloats(load_.codecs.dense));
}

StepPrediction StepModel::Predict(const ShardingPlan& plan) const {
  TESSERA_CHECK_EQ(plan.world_size, layout_.world_size, "ranks of the plan, and of the step model");
  CheckPlan(plan, ShapesOf(load_));
  const PlanWork work = WorkOfPlan(settings(), plan);
  std::vector<RankSeconds> seconds;
  for (const RankWork& of_rank : work.ranks) {
    seconds.push_back(SecondsOf(of_rank));
    AddWire(of_rank, work, seconds.back());
    AddDense(seconds.back());
  }
  StepPrediction step =
      StepOf(std::move(seconds), layout_.local_size, profile_.cores, profile_.threads);
  step.seconds += OverheadOf(profile_, layout_.world_size).seconds;
  return step;
}

ShardSeconds StepModel::PriceShard(int table, ShardingType type, const Shard& shard,
                                   bool first_column_block, ComputeKernel kernel) const {
  const StepTable& t = load_.tables.at(static_cast<size_t>(table));
  const int world = layout_.world_size, local = layout_.local_size;
  const double all_to_all = CollectiveSlope(profile_, CollectiveOp::kAllToAll, world),
               inside = CollectiveSlope(profile_, CollectiveOp::kAllToAllInside, local),
               between = CollectiveSlope(profile_, CollectiveOp::kAllToAllBetween, world / local),
               all_gather = CollectiveSlope(profile_, CollectiveOp::kAllGather, world);
  // Sent and received are half of a step's traffic each: over all ranks they are equal.
  const auto half = [](const WireBytes& bytes) { return (bytes.sent + bytes.received) / 2; };
  const auto routed = [&](const RouteBytes& bytes) {
    return all_to_all * half(bytes.direct) + inside * half(bytes.inside) +
           between * half(bytes.between);
  };
  const auto priced = [&](const RankWork& work) {
    RankSeconds s = SecondsOf(work);
    s.ids_wire = all_to_all * half(work.ids);
    s.rows_wire = routed(work.rows);
    s.gradients_wire = routed(work.gradients) + all_gather * work.gathered;
    return s;
  };
  if (type == ShardingType::kDataParallel)
    return {priced(WorkOfReplica(settings(), t).everyone), {}};
  if (shard.rows == 0) return {};
  // The blocks of rows of these types lie in one node, where they are alike: a rank has the node's
  // work of all of them.
  const bool sums = type == ShardingType::kTableRowWise || type == ShardingType::kGridShard;
  const ShardRoute route = {sums && !t.sequences && local > 1 && local < world, 1.0 / local};
  ShardWork work = WorkOfShard(settings(), t, shard, first_column_block, kernel, route);
  for (int part = 0; part < local; ++part) work.own += work.node;
  return {priced(work.own), priced(work.everyone)};
}

StepPrediction StepOf(std::vector<RankSeconds> ranks, int local_size, int cores, int threads) {
  StepPrediction step;
  double shared = 0;
  for (size_t phase = 0; phase < kPhases; ++phase) {
    const PhaseTime time = TimeOf(phase, ranks, local_size, cores, threads);
    step.seconds += std::max(time.busiest, time.shared) + time.waiting;
    step.waiting += time.waiting;
    if (time.shared > time.busiest) shared += time.shared;
  }
  step.limited_by_cores = shared > step.seconds / 2;
  const auto less = [](const RankSeconds& a, const RankSeconds& b) {
    return a.total() < b.total();
  };
  step.busiest =
      static_cast<int>(std::max_element(ranks.begin(), ranks.end(), less) - ranks.begin());
  step.ranks = std::move(ranks);
  return step;
}

}  // namespace tessera
