#ifndef TESSERA_BENCH_EVICTION_EVICTION_TOPIC_H_
#define TESSERA_BENCH_EVICTION_EVICTION_TOPIC_H_
// How often ids find their rows where there are more ids than rows, by the policies of managed
// collision, beside the offline optimum (belady.h).
#include "bench/harness/topic.h"

namespace tessera::bench {

const Topic& EvictionTopic();

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_EVICTION_EVICTION_TOPIC_H_
