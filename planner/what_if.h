#ifndef TESSERA_PLANNER_WHAT_IF_H_
#define TESSERA_PLANNER_WHAT_IF_H_
// Plans over a grid of machines and loads, to find the change that would help most.
//
//   ranks         ranks, of all nodes together
//   hbm, ddr      GiB of device memory, of host memory, of each rank
//   disk          GiB of disk of each rank, for tables that would not fit in memory; 0: none
//   batch         examples of each rank in a step
//   codec         codec of rows and gradients between ranks (quant/wire_codec.h)
//   intra_bw, inter_bw   GB/s (10^9 bytes) of a rank to its node, to other nodes
//
// Each axis has the current value among its values, so the grid has every change of one value
// alone.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

enum class WhatIfKey { kRanks, kHbm, kDdr, kDisk, kBatch, kCodec, kIntraBw, kInterBw };
std::string ToString(WhatIfKey key);  // "ranks", "hbm", …

struct WhatIfAxis {
  WhatIfKey key = WhatIfKey::kRanks;
  std::vector<std::string> values;  // numbers ascend
  size_t current = 0;               // the place of the current value
};

// An axis from "ranks=2,4,8", without a current value. Throws Error for an unknown key, which lists
// those there are, for what is no value of the key, and for a value that is given twice.
WhatIfAxis ParseWhatIf(const std::string& text);

// Adds the current value to the axis, unless it is there, and points to it.
void SetCurrent(WhatIfAxis& axis, const std::string& value);

// A number as the values of an axis have it: "40", "31.25".
std::string WhatIfNumber(double number);

// The plan at a point of the grid.
struct WhatIfPlan {
  int ranks = 1;
  int64_t batch = 0;  // of each rank
  double step_ms = 0;
  int64_t most_hbm = 0, most_ddr = 0, most_disk = 0;  // bytes of the fullest rank
  std::string bound_by;                               // PlanLoad::bound_by
  double bound_share = 0;

  double rows_per_second() const;  // over all ranks
  double rank_hours() const;       // for 10^9 rows
};

struct WhatIfPoint {
  std::vector<size_t> values;      // of each axis, the place
  std::optional<WhatIfPlan> plan;  // nothing where no plan fits,
  std::string why;                 // and why not
};

struct WhatIf {
  std::vector<WhatIfAxis> axes;
  std::vector<WhatIfPoint> points;  // the last axis changes fastest
  size_t current = 0;               // the place of the current point
};

inline constexpr int64_t kMaxWhatIfPoints = 256;

// Plans at a point; throws PlannerError where no plan fits.
using PlanAt = std::function<WhatIfPlan(const std::vector<size_t>& values)>;
// Called before each point is planned.
using WhatIfProgress = std::function<void(const std::string& name, double fraction)>;

// Throws Error for axes of one key and for more points than kMaxWhatIfPoints.
void CheckWhatIf(const std::vector<WhatIfAxis>& axes);
WhatIf ExploreWhatIf(std::vector<WhatIfAxis> axes, const PlanAt& plan_at,
                     const WhatIfProgress& progress = {});

// "ranks=4, hbm=80"
std::string NameOfPoint(const std::vector<WhatIfAxis>& axes, const std::vector<size_t>& values);

// The point with the most rows a second, of all points, or of those that differ from the current
// one in the value of one axis. Of points within a thousandth it is the current one, or else the
// first. Nothing where no plan fits.
std::optional<size_t> BestPoint(const WhatIf& what_if);
std::optional<size_t> BestChange(const WhatIf& what_if);
// The point with the fewest rank-hours of a row, by the same rule.
std::optional<size_t> CheapestPoint(const WhatIf& what_if);
// The axis in which a point of BestChange differs.
size_t ChangedAxis(const WhatIf& what_if, size_t point);

// Whether a plan fits there and has more rows a second, by more than a thousandth, than at the
// current point.
bool Helps(const WhatIf& what_if, size_t point);

// A page of charts, a bar a point: step time, rows a second, memory, and the rank-hours of rows.
std::string WhatIfPicture(const WhatIf& what_if, const std::string& title);

}  // namespace tessera
#endif  // TESSERA_PLANNER_WHAT_IF_H_
