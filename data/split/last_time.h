#ifndef TESSERA_DATA_SPLIT_LAST_TIME_H_
#define TESSERA_DATA_SPLIT_LAST_TIME_H_
// Finds the time at which the last fraction of rows begins, from one pass over the times: exactly
// for fewer than 2^20 rows, else from an even sample of 2^19 or more of them. Rows may come in any
// order.
#include <cstdint>
#include <span>

#include "data/even_sample.h"

namespace tessera {

class LastTime {
 public:
  void Add(std::span<const int64_t> times) {
    for (const int64_t time : times) sample_.Add(time);
  }
  // Rows of one time stay together: the rows at or after the result are about the last fraction, at
  // least one, and not all. Throws Error where all rows have one time, and for no rows.
  int64_t Begin(double fraction) const;

 private:
  EvenSample<int64_t, int64_t{1} << 20> sample_;
};

}  // namespace tessera
#endif  // TESSERA_DATA_SPLIT_LAST_TIME_H_
