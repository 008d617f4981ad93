#ifndef TESSERA_PLANNER_MODEL_KEPT_BYTES_H_
#define TESSERA_PLANNER_MODEL_KEPT_BYTES_H_
// The bytes that training keeps beside each row of so many columns: optimizer states, and the
// gradient where it is a whole table's.
#include <cstdint>

namespace tessera {

struct KeptBytes {
  int64_t column = 0, row = 0;

  int64_t Of(int64_t columns) const { return column * columns + row; }
  bool operator==(const KeptBytes&) const = default;
};

}  // namespace tessera
#endif  // TESSERA_PLANNER_MODEL_KEPT_BYTES_H_
