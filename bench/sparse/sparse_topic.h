#ifndef TESSERA_BENCH_SPARSE_SPARSE_TOPIC_H_
#define TESSERA_BENCH_SPARSE_SPARSE_TOPIC_H_
// The ops on jagged batches and on pooled rows, each beside a memcpy that moves as many bytes.
#include "bench/harness/topic.h"

namespace tessera::bench {

const Topic& SparseTopic();

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_SPARSE_SPARSE_TOPIC_H_
