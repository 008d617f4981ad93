#ifndef TESSERA_BENCH_DATA_READ_TOPIC_H_
#define TESSERA_BENCH_DATA_READ_TOPIC_H_
// A user's own rows as batches, from the files that the peers' scripts multihot.py and read_text.py
// generate: text by a schema, npz days and row folders, by the code that a training reads with.
#include "bench/harness/topic.h"

namespace tessera::bench {

const Topic& ReadTopic();

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_DATA_READ_TOPIC_H_
