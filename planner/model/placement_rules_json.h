#ifndef TESSERA_PLANNER_MODEL_PLACEMENT_RULES_JSON_H_
#define TESSERA_PLANNER_MODEL_PLACEMENT_RULES_JSON_H_
// Rules on where tables lie as a JSON document:
//
//   {"tessera_placement_rules": 1,                          the format's version
//    "together": [["users", "friends"], …], "apart": [["a", "b"], …],
//    "rank_caps": [{"rank": 0, "hbm": 1073741824, "ddr": 0}, …]}
//
// with the names of placement_rules.h. What is left out has its default; an existing plan is a file
// of its own.
#include <string>

#include "planner/model/placement_rules.h"

namespace tessera {

// Throws Error, which begins with `where` (a file's name) and names the field, for a document that
// is not such rules of this version.
PlacementRules PlacementRulesFromJson(const std::string& text, const std::string& where);

}  // namespace tessera
#endif  // TESSERA_PLANNER_MODEL_PLACEMENT_RULES_JSON_H_
