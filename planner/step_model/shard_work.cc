#include "planner/step_model/shard_work.h"

#include <algorithm>
#include <cmath>

#include "planner/step_model/cache_misses.h"
#include "planner/step_model/tier_moves.h"

namespace tessera {
namespace {

constexpr double kFloat = 4, kLengthBytes = 4, kWeightBytes = 4;

template <size_t n>
void AddTo(std::array<double, n>& sum, const std::array<double, n>& other) {
  for (size_t i = 0; i < n; ++i) sum[i] += other[i];
}

// A part of a table as one rank looks rows up in it and updates them.
struct Part {
  const StepTable& table;
  double columns, rows;  // of the part

  double row_bytes() const { return columns * static_cast<double>(SizeOf(table.row_type)); }
  double share_of_rows() const { return rows / static_cast<double>(table.rows); }
};

const RowPriceTable& LookupRows(const MachineProfile& profile, DType type) {
  static const RowPriceTable none;
  const auto found = profile.lookup.rows.find(type);
  if (found != profile.lookup.rows.end()) return found->second;
  const auto floats = profile.lookup.rows.find(DType::kF32);
  return floats == profile.lookup.rows.end() ? none : floats->second;
}

const RowPriceTable& UpdateRows(const MachineProfile& profile, const std::string& rule) {
  static const RowPriceTable none;
  const auto found = profile.update.rows.find(MeasuredRuleLike(rule));
  return found == profile.update.rows.end() ? none : found->second;
}

double RowTypeFactor(const MachineProfile& profile, DType type) {
  const auto found = profile.update.row_type.find(type);
  return found == profile.update.row_type.end() ? 1 : found->second;
}

// The bags and ids that a call reads of a part for one feature.
struct Reading {
  const StepFeature& feature;
  double bags = 0, ids = 0;  // of the call

  double outputs(const StepTable& table) const { return table.sequences ? ids : bags; }
};

double LookupSeconds(const WorkSettings& s, const Part& part, const Reading& r) {
  const MachineProfile& profile = *s.profile;
  const RowPriceTable& rows = LookupRows(profile, part.table.row_type);
  double id = 0;
  for (const RowGroup& g : r.feature.popularity.groups) {
    const double steps = StepsBetweenUses(g, r.feature.ids * s.ranks);
    id += g.share * RowPrice(rows, part.row_bytes(), s.working_set->Of(steps));
  }
  const double out = r.outputs(part.table) * PriceAt(profile.lookup.bag, part.columns * kFloat);
  return profile.lookup.feature + out + r.ids * id;
}

struct Distinct {
  double rows = 0, seconds = 0;
};

// The distinct rows of a reading, and their updates' seconds. A row was last used by this step's
// forward, or by an earlier step.
Distinct DistinctUpdates(const WorkSettings& s, const Part& part, const Reading& r) {
  const RowPriceTable& prices = UpdateRows(*s.profile, part.table.rule);
  Distinct sum;
  for (const RowGroup& g : r.feature.popularity.groups) {
    const double rows = g.rows * part.share_of_rows();
    const double distinct = -rows * std::expm1(-r.ids * g.share / rows);
    const double steps = std::min(1.0, StepsBetweenUses(g, r.feature.ids * s.ranks));
    sum.rows += distinct;
    sum.seconds += distinct * RowPrice(prices, part.columns * kFloat, s.working_set->Of(steps));
  }
  return sum;
}

// Seconds of a part's updates by all its features' readings: each occurrence counts, and each
// distinct row once.
double UpdateSeconds(const WorkSettings& s, const Part& part,
                     const std::vector<Reading>& readings) {
  const UpdatePrices& prices = s.profile->update;
  double seconds = prices.table, apart = 0, row_seconds = 0, untouched = 1;
  for (const Reading& r : readings) {
    const double gradients = r.outputs(part.table) * part.columns * kFloat;
    const Distinct distinct = DistinctUpdates(s, part, r);
    seconds += std::max(0.0, r.ids - distinct.rows) *
                   RowPrice(prices.occurrence, part.columns * kFloat, gradients) +
               r.ids * PriceAt(prices.sort, part.rows);
    apart += distinct.rows;
    row_seconds += distinct.seconds;
    untouched *= std::max(0.0, 1 - distinct.rows / part.rows);
  }
  const double together = part.rows * (1 - untouched);
  if (apart > 0) seconds += row_seconds * std::min(1.0, together / apart);
  const double frozen = part.table.rule == "none" ? 0 : 1;
  return frozen * seconds * RowTypeFactor(*s.profile, part.table.row_type);
}

TierMoves MovesOf(const WorkSettings& s, const Part& part, ComputeKernel kernel, const Reading& r) {
  const double states = BytesOfStates(part.table, part.columns);
  if (kernel == ComputeKernel::kFusedUvm)
    return MovesOfUvm(r.ids, DistinctUpdates(s, part, r).rows, part.row_bytes(), states);
  const double misses = FeatureMisses(part.table, r.feature, part.rows, part.columns, r.ids);
  return kernel == ComputeKernel::kKeyValue
             ? MovesOfDisk(misses, part.rows, part.row_bytes(), states)
             : MovesOfCache(misses, part.row_bytes(), states);
}

// Adds what a part takes more because it does not lie in its device's memory. A disk is its node's:
// each of the node's ranks waits for what all of them read.
void AddTier(const WorkSettings& s, const Part& part, ComputeKernel kernel,
             const std::vector<Reading>& readings, ShardWork& work) {
  const auto found = s.profile->tiers.find(kernel);
  if (found == s.profile->tiers.end()) return;
  const TierPrices& prices = found->second;
  work.own.tiers += prices.table;
  for (const Reading& r : readings) {
    if (r.ids <= 0) continue;
    const TierMoves moves = MovesOf(s, part, kernel, r);
    work.own.tiers += r.ids * prices.id + moves.rows * prices.row;
    const double bytes = moves.bytes * prices.byte;
    if (kernel == ComputeKernel::kKeyValue)
      work.node.disk += bytes / s.profile->measuring_ranks;
    else
      work.own.tiers += bytes;
  }
}

CodecPrices PricesOf(const MachineProfile& profile, const WireCodec& codec) {
  const auto found = profile.codecs.find(codec.type);
  return found == profile.codecs.end() ? CodecPrices{} : found->second;
}

double EncodedRow(const WireCodec& codec, double columns) {
  const auto n = static_cast<int64_t>(columns);
  return static_cast<double>(EncodedBytes(codec, n, n));
}

double BytesOfId(const WorkSettings& s, const StepTable& table) {
  return static_cast<double>(s.load->id_bytes) + (table.weighted ? kWeightBytes : 0);
}

// The number of ids to copy; one with a weight counts one and a half.
double Moved(const StepTable& table, double ids) { return table.weighted ? 1.5 * ids : ids; }

// Ids of one feature on their way to a shard.
void AddIds(const WorkSettings& s, const StepTable& table, const Reading& one, bool whole,
            bool copies, ShardWork& work) {
  const double others = s.ranks - 1,
               bytes = one.ids * BytesOfId(s, table) + one.bags * kLengthBytes;
  RankWork &own = work.own, &home = work.everyone;
  own.input[kInputSegments] += s.ranks;
  own.input[kMovedIds] += Moved(table, one.ids * s.ranks);
  own.input[kMovedBags] += one.bags * s.ranks;
  own.ids.received += others * bytes;
  own.ids.sent -= bytes;  // it sends none to itself
  home.input[kInputSegments] += 1;
  home.ids.sent += bytes;
  if (whole || copies) {
    home.input[kMovedIds] += Moved(table, one.ids);
    home.input[kMovedBags] += one.bags;
  } else {
    home.input[kSplitSegments] += 1;
    home.input[kSplitIds] += Moved(table, one.ids);
    home.input[kSplitBags] += one.bags;
  }
}

// Rows of one feature for one rank's bags, as they travel.
struct Travel {
  double rows, bytes, elements;  // of f32
  double there, back;            // bytes with the codecs
  CodecPrices forward, backward;
};

Travel TravelOf(const WorkSettings& s, const Part& part, const Reading& one) {
  const double rows = one.outputs(part.table), columns = part.columns;
  const WireCodecs& codecs = s.load->codecs;
  return {rows,
          rows * columns * kFloat,
          rows * columns,
          rows * EncodedRow(codecs.forward, columns),
          rows * EncodedRow(codecs.backward, columns),
          PricesOf(*s.profile, codecs.forward),
          PricesOf(*s.profile, codecs.backward)};
}

// A block of columns that is gathered into outputs `times` times, and spread from gradients.
// blocks: below 1 for a part of one.
void AddBlocks(const Travel& t, double blocks, double times, double bytes, RankWork& work) {
  for (OutputCounts* counts : {&work.output, &work.gradient}) {
    (*counts)[kOutputBlocks] += blocks * times;
    (*counts)[kBlockRows] += blocks * times * t.rows;
    (*counts)[kOutputBlockBytes] += times * bytes;
  }
}

// Rows of one feature on their way home, and gradients on the way back: to every rank directly.
void AddRowsDirect(const WorkSettings& s, const Travel& t, ShardWork& work) {
  const double others = s.ranks - 1;
  RankWork &own = work.own, &home = work.everyone;
  AddBlocks(t, 1, 1, t.bytes, home);
  own.gradient[kReturnedBytes] += t.bytes * s.ranks;
  own.output_codec += t.elements * s.ranks * t.forward.encode;
  home.output_codec += t.elements * t.forward.decode;
  home.gradient_codec += t.elements * t.backward.encode;
  own.gradient_codec += t.elements * s.ranks * t.backward.decode;
  own.rows.direct += {others * t.there, -t.there};
  home.rows.direct.received += t.there;
  own.gradients.direct += {-t.back, others * t.back};
  home.gradients.direct.sent += t.back;
}

// By node: the shard's rank joins its rows for each place of a node, every rank of its node adds up
// what it got for its place in all nodes, and sends the sum there.
void AddRowsByNode(const WorkSettings& s, const Travel& t, double blocks, ShardWork& work) {
  const double local = s.local_size, nodes = s.ranks / local;
  RankWork &own = work.own, &node = work.node, &home = work.everyone;
  own.output[kOutputBlockBytes] += t.bytes * s.ranks;
  own.gradient[kReturnedBytes] += t.bytes * s.ranks;
  AddBlocks(t, blocks, nodes, t.bytes, node);
  AddBlocks(t, blocks, 1, t.bytes * blocks, home);
  own.rows.inside += {(local - 1) * nodes * t.bytes, -nodes * t.bytes};
  node.rows.inside.received += nodes * t.bytes;
  own.gradients.inside += {-nodes * t.bytes, (local - 1) * nodes * t.bytes};
  node.gradients.inside.sent += nodes * t.bytes;
  const double there = t.there * blocks, back = t.back * blocks, elements = t.elements * blocks;
  node.rows.between += {(nodes - 1) * there, -there};
  home.rows.between.received += there;
  node.gradients.between += {-back, (nodes - 1) * back};
  home.gradients.between.sent += back;
  node.output_codec += elements * nodes * t.forward.encode;
  home.output_codec += elements * t.forward.decode;
  home.gradient_codec += elements * t.backward.encode;
  node.gradient_codec += elements * nodes * t.backward.decode;
}

RankWork Calls(const MachineProfile& profile, bool own, bool replicas) {
  RankWork work;
  const double lookups = (own ? 1 : 0) + (replicas ? 1 : 0);
  work.input[kInputCalls] = replicas ? 2 : 1;
  work.output[kOutputCalls] = 1;
  work.gradient[kOutputCalls] = 1;
  work.lookup = lookups * profile.lookup.call;
  work.update = lookups * profile.update.call;
  return work;
}

}  // namespace

RouteBytes& RouteBytes::operator+=(const RouteBytes& other) {
  direct += other.direct;
  inside += other.inside;
  between += other.between;
  return *this;
}

WireBytes& WireBytes::operator+=(const WireBytes& other) {
  sent += other.sent;
  received += other.received;
  return *this;
}

RankWork& RankWork::operator+=(const RankWork& other) {
  AddTo(input, other.input);
  AddTo(output, other.output);
  AddTo(gradient, other.gradient);
  lookup += other.lookup;
  tiers += other.tiers;
  disk += other.disk;
  output_codec += other.output_codec;
  gradient_codec += other.gradient_codec;
  update += other.update;
  ids += other.ids;
  rows += other.rows;
  gradients += other.gradients;
  gathered += other.gathered;
  return *this;
}

ShardWork WorkOfShard(const WorkSettings& s, const StepTable& table, const Shard& shard,
                      bool first_column_block, ComputeKernel kernel, const ShardRoute& route) {
  const Part part{table, static_cast<double>(shard.columns), static_cast<double>(shard.rows)};
  const bool whole = shard.rows == table.rows;
  ShardWork work;
  std::vector<Reading> readings;
  for (const StepFeature& f : table.features) {
    const double share =
        ShareOfRows(f.popularity, table.rows, shard.row_offset, shard.row_offset + shard.rows);
    const Reading one{f, f.bags, f.ids * share};
    const Reading all{f, f.bags * s.ranks, one.ids * s.ranks};
    AddIds(s, table, one, whole, !first_column_block, work);
    const Travel travel = TravelOf(s, part, one);
    if (route.by_node)
      AddRowsByNode(s, travel, route.blocks, work);
    else
      AddRowsDirect(s, travel, work);
    work.own.lookup += LookupSeconds(s, part, all);
    readings.push_back(all);
  }
  work.own.update += UpdateSeconds(s, part, readings);
  AddTier(s, part, kernel, readings, work);
  return work;
}

ShardWork WorkOfReplica(const WorkSettings& s, const StepTable& table) {
  const Part part{table, static_cast<double>(table.dim), static_cast<double>(table.rows)};
  ShardWork work;
  RankWork& home = work.everyone;
  std::vector<Reading> readings;
  const double both_ways = 2 * s.ranks, others = s.ranks - 1;
  for (const StepFeature& f : table.features) {
    const Reading one{f, f.bags, f.ids}, all{f, f.bags * s.ranks, f.ids * s.ranks};
    const Travel travel = TravelOf(s, part, one);
    const double bytes = travel.bytes;
    AddBlocks(travel, 1, 1, bytes, home);
    home.lookup += LookupSeconds(s, part, one);
    home.input[kCheckedIds] += f.ids;
    home.input[kInputSegments] += both_ways;
    home.input[kMovedIds] += Moved(table, f.ids * both_ways);
    home.input[kMovedBags] += f.bags * both_ways;
    const double id_bytes = f.ids * BytesOfId(s, table) + f.bags * kLengthBytes;
    home.ids += {others * id_bytes, others * id_bytes};
    home.gradient[kReturnedBytes] += bytes * s.ranks;
    home.gathered += bytes;
    readings.push_back(all);
  }
  home.update += UpdateSeconds(s, part, readings);
  return work;
}

RankWork WorkOfTable(const StepTable& table) {
  RankWork work;
  for (const StepFeature& f : table.features) work.input[kCheckedIds] += f.ids;
  return work;
}

PlanWork WorkOfPlan(const WorkSettings& given, const ShardingPlan& plan) {
  WorkSettings s = given;
  s.local_size = plan.local_size;
  const PlanRoutes routes(*s.load, plan);
  PlanWork work;
  work.ranks.resize(static_cast<size_t>(plan.world_size));
  std::vector<bool> own(work.ranks.size());
  std::vector<RankWork> nodes(work.ranks.size() / static_cast<size_t>(plan.local_size));
  RankWork everyone;
  for (const StepTable& table : s.load->tables) {
    const TableSharding& sharding = plan.tables.at(table.name);
    everyone += WorkOfTable(table);
    if (sharding.type == ShardingType::kDataParallel) {
      everyone += WorkOfReplica(s, table).everyone;
      work.replicas = true;
      continue;
    }
    (routes.ByNode(table) ? work.by_node : work.direct) = true;
    for (const Shard& shard : sharding.shards) {
      if (shard.rows == 0) continue;
      const auto r = static_cast<size_t>(shard.rank);
      const ShardWork parts = WorkOfShard(s, table, shard, shard.column_offset == 0,
                                          sharding.kernel, routes.Of(table, shard));
      work.ranks[r] += parts.own;
      nodes[r / static_cast<size_t>(plan.local_size)] += parts.node;
      own[r] = true;
      everyone += parts.everyone;
    }
  }
  for (size_t r = 0; r < work.ranks.size(); ++r) {
    work.ranks[r] += everyone;
    work.ranks[r] += nodes[r / static_cast<size_t>(plan.local_size)];
    work.ranks[r] += Calls(*s.profile, own[r], work.replicas);
  }
  return work;
}

}  // namespace tessera
