#ifndef TESSERA_PLANNER_SEARCH_MODULE_ORDER_H_
#define TESSERA_PLANNER_SEARCH_MODULE_ORDER_H_
// The order in which TorchRec's enumerator meets modules: the model's tree of dotted paths, walked
// by a stack, so that the last child comes first.
#include <vector>

#include "planner/model/model.h"

namespace tessera::internal {

// Indices of modules.
std::vector<int> TorchRecModuleOrder(const std::vector<PlannerModule>& modules);

}  // namespace tessera::internal
#endif  // TESSERA_PLANNER_SEARCH_MODULE_ORDER_H_
