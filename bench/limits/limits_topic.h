#ifndef TESSERA_BENCH_LIMITS_LIMITS_TOPIC_H_
#define TESSERA_BENCH_LIMITS_LIMITS_TOPIC_H_
// The limits that this machine sets, with nothing of the library in it: the denominators of the
// other topics' shares, and the roofs of a roofline (bench/pictures/roofline_svg.h).
//
//   read, copy, write   memory in order; copy counts what it reads and what it writes
//   gather:BYTES        rows of so many bytes in random order, read and added up
//   update:BYTES        distinct rows in rising order, as after grouping, read, changed and written
//                       back; counts both ways
//   fma                 products added up in registers, two operations each
#include "bench/harness/topic.h"

namespace tessera::bench {

const Topic& LimitsTopic();

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LIMITS_LIMITS_TOPIC_H_
