#include "planner/model/planner_error.h"

namespace tessera {

std::string ToString(PlannerErrorKind kind) {
  static constexpr const char* kNames[] = {"insufficient_storage",
                                           "strict_constraints",
                                           "partition",
                                           "no_option",
                                           "feature_list_lengths",
                                           "no_kernel_bandwidth",
                                           "missing_module_in_plan",
                                           "missing_table_in_plan",
                                           "invalid_compute_kernel",
                                           "placement_rules"};
  return kNames[static_cast<int>(kind)];
}

}  // namespace tessera
