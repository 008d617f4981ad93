#ifndef TESSERA_BENCH_EMBEDDING_GROWING_TOPIC_H_
#define TESSERA_BENCH_EMBEDDING_GROWING_TOPIC_H_
// Growing tables: what raw ids cost beside plain row numbers in lookups and steps, and what new ids
// cost, in a table with room and in a full one.
#include "bench/harness/topic.h"

namespace tessera::bench {

const Topic& GrowingTopic();

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_EMBEDDING_GROWING_TOPIC_H_
