#ifndef TESSERA_CLI_PLAN_PLAN_INPUTS_H_
#define TESSERA_CLI_PLAN_PLAN_INPUTS_H_
// Inputs of tessera plan, from files of several kinds.
#include <optional>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "planner/model/model.h"
#include "planner/model/topology_json.h"
#include "planner/step_model/calibrated_estimator.h"
#include "train/config/train_config.h"

namespace tessera::cli {

struct PlanFlags {
  std::string tables, topology, out, html, json, cost_model, existing, constraints;
  std::optional<int> ranks, ranks_per_node;
  std::optional<double> hbm_gib, ddr_gib, reserve;
  std::optional<int64_t> batch_size, most_moved_bytes;
  std::vector<std::string> data, set, what_if;
  int validate = 0;  // plans
  int simulate = 0;  // steps
  double jitter = 0.1, slow_rank = 2;
};

void AddPlanFlags(Command command, PlanFlags& flags);
// Parts of them: tables and machine; the sizes of the machine; load and cost model.
void AddTablesFlags(Command command, PlanFlags& flags);
void AddRanksFlags(Command command, PlanFlags& flags);
void AddCostFlags(Command command, PlanFlags& flags);

// The machine of --topology: a file, which is read once, or a name.
class MachineSource {
 public:
  // Throws Error for what is neither; it lists the names.
  explicit MachineSource(const PlanFlags& flags);

  // Its ranks and memory are the flags' where they say so.
  TopologyFile Of(const PlanFlags& flags) const;

 private:
  std::optional<TopologyFile> file_;  // nothing for a name
};
TopologyFile ReadTopology(const PlanFlags& flags);

struct PlanInput {
  PlannerModel model;
  std::optional<TrainConfig> config;  // where the tables are those of a training
};
// A model to plan, the configuration of a training, or a checkpoint (file or folder). Throws Error
// for what is none of these.
PlanInput ReadPlanInput(const PlanFlags& flags, const Topology& topology);

// Measures the features in the rows of --data, kMaxMeasuredRows at most, and sets `input`'s pooling
// factors. Throws Error for tables that are not those of a training.
inline constexpr int64_t kMaxMeasuredRows = 200'000;
CalibratedOptions MeasureData(const PlanFlags& flags, PlanInput& input);
// Sets them from what was measured already.
void UseMeasured(const CalibratedOptions& known, PlannerModel& model);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_PLAN_PLAN_INPUTS_H_
