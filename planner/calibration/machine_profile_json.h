#ifndef TESSERA_PLANNER_CALIBRATION_MACHINE_PROFILE_JSON_H_
#define TESSERA_PLANNER_CALIBRATION_MACHINE_PROFILE_JSON_H_
// A machine profile as the `profile` section of a topology (planner/model/topology_json.h):
//
//   {"tessera_profile": 1, "machine": "AMD EPYC, 2 cores", "device": "cpu", "ranks": 4, …,
//    "lookup": {"call": s, "feature": s, "bag": CURVE, "rows": {"f32": ROWS}}, …}
//
//   CURVE  [[at, seconds], …], `at` rising
//   ROWS   [[row bytes, CURVE], …], row bytes rising
//
// with the names of machine_profile.h.
#include <string>

#include "planner/model/topology_json.h"
#include "planner/step_model/machine_profile.h"

namespace tessera {

std::string MachineProfileToJson(const MachineProfile& profile);

// Throws Error, which begins with `where` and names the field, for text that is no profile of this
// version, and for prices that are negative or not finite.
MachineProfile MachineProfileFromJson(const std::string& text, const std::string& where);
// The profile of a topology that has one; errors name its document.
MachineProfile MachineProfileOf(const TopologyFile& machine);

}  // namespace tessera
#endif  // TESSERA_PLANNER_CALIBRATION_MACHINE_PROFILE_JSON_H_
