#ifndef TESSERA_PLANNER_MODEL_PLANNER_ERROR_H_
#define TESSERA_PLANNER_MODEL_PLANNER_ERROR_H_
// Why there is no plan: an Error with a kind that programs can tell apart. Its text names tables,
// ranks and bytes.
#include <string>

#include "runtime/base/check.h"

namespace tessera {

enum class PlannerErrorKind {
  kInsufficientStorage,   // not even the sum of all memory holds the tables
  kStrictConstraints,     // it would, but no plan fits rank by rank
  kPartition,             // the given choice of options cannot be placed
  kNoOption,              // a table's constraints leave it no sharding type and kernel
  kFeatureListLengths,    // lists of one table's features disagree in length
  kNoKernelBandwidth,     // a kernel that the device lacks
  kMissingModuleInPlan,   // a collection got no table into the plan
  kMissingTableInPlan,    // a table is for other devices than the topology has
  kInvalidComputeKernel,  // a cached table whose load factor is not between 0 and 1
  kPlacementRules         // rules on where tables lie contradict each other or the tables
};
std::string ToString(PlannerErrorKind kind);  // "insufficient_storage", …

class PlannerError : public Error {
 public:
  PlannerError(PlannerErrorKind kind, const std::string& what) : Error(what), kind_(kind) {}
  PlannerErrorKind kind() const { return kind_; }

 private:
  PlannerErrorKind kind_;
};

}  // namespace tessera
#endif  // TESSERA_PLANNER_MODEL_PLANNER_ERROR_H_
