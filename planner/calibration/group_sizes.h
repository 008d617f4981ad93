#ifndef TESSERA_PLANNER_CALIBRATION_GROUP_SIZES_H_
#define TESSERA_PLANNER_CALIBRATION_GROUP_SIZES_H_
// The numbers of ranks that are measured.
#include <vector>

namespace tessera {

// 2, 4, 8, … and `ranks`; 1 alone for one.
inline std::vector<int> GroupSizes(int ranks) {
  std::vector<int> sizes;
  for (int n = 2; n < ranks; n *= 2) sizes.push_back(n);
  sizes.push_back(ranks);
  return sizes;
}

}  // namespace tessera
#endif  // TESSERA_PLANNER_CALIBRATION_GROUP_SIZES_H_
