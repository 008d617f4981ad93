#ifndef TESSERA_PLANNER_CALIBRATION_MEASURE_SIZES_H_
#define TESSERA_PLANNER_CALIBRATION_MEASURE_SIZES_H_
// Sizes of the work that calibration measures.
#include <algorithm>
#include <cstdint>

namespace tessera {

// How much is measured with. Smaller than the defaults is for tests: prices of small work are
// mostly those of calls.
struct MeasureSizes {
  double seconds_a_point = 0.08;
  // Sizes for one rank: ids of the largest call, the largest table, the largest message.
  int64_t most_ids = int64_t{1} << 18;
  int64_t largest_table_bytes = int64_t{256} << 20;
  int64_t largest_message_bytes = int64_t{16} << 20;

  // So many bags of a step, or fewer in proportion.
  int64_t Bags(int64_t bags) const {
    return std::max<int64_t>(1, bags * most_ids / (int64_t{1} << 18));
  }
};

}  // namespace tessera
#endif  // TESSERA_PLANNER_CALIBRATION_MEASURE_SIZES_H_
