#ifndef TESSERA_BENCH_COMM_COMM_TOPIC_H_
#define TESSERA_BENCH_COMM_COMM_TOPIC_H_
// Collectives of ranks that are threads of one process, beside a plain copy of as many bytes by
// every rank at the same time. Processes are bench/comm/comm_bench's, under mpirun. Bytes are those
// of the bus bandwidth (collectives.h), so GB/s is that. Threads hand tensors over without a copy:
// their all-to-all and broadcast take the same time for any size.
#include "bench/harness/topic.h"

namespace tessera::bench {

const Topic& CommTopic();

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_COMM_COMM_TOPIC_H_
