#ifndef TESSERA_BENCH_LAB_LAB_TOPIC_H_
#define TESSERA_BENCH_LAB_LAB_TOPIC_H_
// `tessera bench lab`: ours beside its variants, on one shape. Each variant is checked bit by bit
// before anything is timed (variant_check.h). Parameters of variants are axes.
#include "bench/harness/topic.h"

namespace tessera::bench {

const Topic& LabTopic();

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LAB_LAB_TOPIC_H_
