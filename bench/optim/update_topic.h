#ifndef TESSERA_BENCH_OPTIM_UPDATE_TOPIC_H_
#define TESSERA_BENCH_OPTIM_UPDATE_TOPIC_H_
// Every rule's fused update of tables, sort included, beside a bare gather-modify-scatter of the
// same rows and states (bench/embedding/bare_loops.h), which is given the grouping by row for free.
#include "bench/harness/topic.h"

namespace tessera::bench {

const Topic& UpdateTopic();

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_OPTIM_UPDATE_TOPIC_H_
