#include "planner/calibration/measure_tiers.h"

#include <algorithm>
#include <vector>

#include "planner/calibration/least_squares.h"
#include "planner/calibration/table_trial.h"
#include "planner/step_model/row_popularity.h"
#include "planner/step_model/step_load.h"
#include "planner/step_model/tier_moves.h"

namespace tessera {
namespace {

using internal::kBagIds;
using internal::kFloat;

// One table and several, few ids and many, rows that a cache keeps and rows that it lacks, narrow
// and wide ones. Of a disk few ids alone, as neighbouring blocks are read together.
std::vector<TableTrial> Trials(const MeasureSizes& sizes, EmbeddingLocation location) {
  const int64_t rows = sizes.largest_table_bytes / 4096, many = sizes.most_ids / 8 / kBagIds,
                few = std::max<int64_t>(1, many / 64);
  const auto trial = [&](int64_t tables, int64_t dim, int64_t bags, int64_t named) {
    return TableTrial{.tables = tables,
                      .rows = rows,
                      .dim = dim,
                      .bags = bags,
                      .ids = kBagIds,
                      .named_rows = named};
  };
  std::vector<TableTrial> trials = {trial(1, 64, few, 0), trial(4, 64, few, 0),
                                    trial(4, 16, 2 * few, 0), trial(1, 64, many, rows / 16)};
  if (location == EmbeddingLocation::kDisk)
    trials.insert(trials.end(), {trial(1, 64, 4 * few, 0), trial(1, 256, 4 * few, 0)});
  else
    trials.insert(trials.end(), {trial(1, 64, many, 0), trial(1, 16, many, 0),
                                 trial(1, 256, many / 4, 0), trial(2, 16, many / 4, 0)});
  return trials;
}

double StateBytes(const TableTrial& trial) {
  return BytesOfStates({.name = {}, .dim = trial.dim, .rule = RuleName(trial.rule)},
                       static_cast<double>(trial.dim));
}

TierMoves MovesOf(const TableTrial& trial, double misses) {
  const double ids = static_cast<double>(trial.tables * trial.bags * trial.ids),
               row = static_cast<double>(trial.dim * kFloat), states = StateBytes(trial);
  if (trial.location == EmbeddingLocation::kDisk)
    return MovesOfDisk(misses, static_cast<double>(trial.tables * trial.rows), row, states);
  if (IsCached(trial.location)) return MovesOfCache(misses, row, states);
  const int64_t named = trial.named_rows > 0 ? trial.named_rows : trial.rows;
  const double distinct =
      static_cast<double>(trial.tables) *
      DistinctRows(UniformRows(named), static_cast<double>(trial.bags * trial.ids));
  return MovesOfUvm(ids, distinct, row, states);
}

// Fits prices to how much longer trials take there, and to what moves. A row that a disk's cache
// lacks is a block in most trials, so that these do not tell the two prices apart: a row costs
// `of_row`, as in memory.
TierPrices Measure(Rounds& rounds, const MeasureSizes& sizes, EmbeddingLocation location,
                   double of_row = 0) {
  const bool disk = location == EmbeddingLocation::kDisk;
  std::vector<Bill> bills;
  for (TableTrial trial : Trials(sizes, location)) {
    const TableTimes here = TimeTables(rounds, trial);
    trial.location = location;
    const TableTimes there = TimeTables(rounds, trial);
    const TierMoves moves = MovesOf(trial, there.misses);
    const double at_home = here.forward + here.backward,
                 more = there.forward + there.backward - at_home - of_row * moves.rows;
    bills.push_back({{static_cast<double>(trial.tables),
                      static_cast<double>(trial.tables * trial.bags * trial.ids),
                      disk ? 0 : moves.rows, moves.bytes},
                     std::max(more, at_home / 20)});  // what is below that is noise
  }
  const std::vector<double> prices = FitPrices(bills);
  return {prices[0], prices[1], disk ? of_row : prices[2], prices[3]};
}

}  // namespace

void MeasureTiers(Rounds& rounds, const MeasureSizes& sizes,
                  const std::function<void(const std::string&)>& said, MachineProfile& profile) {
  said("tables in host memory and on disk");
  if (rounds.ctx().device() != Device::Cpu())
    profile.tiers[ComputeKernel::kFusedUvm] = Measure(rounds, sizes, EmbeddingLocation::kManaged);
  const TierPrices cached = Measure(rounds, sizes, EmbeddingLocation::kManagedCaching);
  profile.tiers[ComputeKernel::kFusedUvmCaching] = cached;
  profile.tiers[ComputeKernel::kKeyValue] =
      Measure(rounds, sizes, EmbeddingLocation::kDisk, cached.row);
}

}  // namespace tessera
