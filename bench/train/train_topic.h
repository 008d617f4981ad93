#ifndef TESSERA_BENCH_TRAIN_TRAIN_TOPIC_H_
#define TESSERA_BENCH_TRAIN_TRAIN_TOPIC_H_
// Training a DLRM on Criteo rows: a step on batches that lie ready, beside its dense products
// alone; these beside the library's; an epoch from a file of text; and the reading of rows by
// itself.
#include "bench/harness/topic.h"

namespace tessera::bench {

const Topic& TrainTopic();

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_TRAIN_TRAIN_TOPIC_H_
