#ifndef TESSERA_BENCH_LAB_LAB_TOPIC_H_
#define TESSERA_BENCH_LAB_LAB_TOPIC_H_
// `tessera bench lab`: ours beside its variants, on one shape. Each variant's result is checked
// before anything is timed: a lookup against the obvious loop in double, an update against ours.
#include "bench/harness/topic.h"

namespace tessera::bench {

const Topic& LabTopic();

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LAB_LAB_TOPIC_H_
