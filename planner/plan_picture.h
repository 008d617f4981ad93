#ifndef TESSERA_PLANNER_PLAN_PICTURE_H_
#define TESSERA_PLANNER_PLAN_PICTURE_H_
// A plan as a page to look at: one self-contained HTML file, without scripts, of two bar charts
// (milliseconds of a step and memory in GiB, a bar a rank) and a table of tables.
//
// Beyond kMaxBars ranks a bar stands for several, and shows the dearest or fullest of them.
#include <string>
#include <vector>

#include "planner/model/model.h"
#include "planner/model/sharding_option.h"
#include "planner/model/topology.h"
#include "planner/stats.h"

namespace tessera {

inline constexpr int kMaxBars = 128;

struct PlanPictureOptions {
  std::string title = "Sharding plan";
  double lower_bound = 0;  // milliseconds that no plan's dearest rank can beat; 0: not drawn
};

// `stats` are those of the plan.
std::string PlanPicture(const Topology& topology, const PlannerModel& model,
                        const std::vector<PlacedOption>& plan, const PlanStats& stats,
                        const PlanPictureOptions& options);

}  // namespace tessera
#endif  // TESSERA_PLANNER_PLAN_PICTURE_H_
