#ifndef TESSERA_BENCH_SERVE_SERVE_TOPIC_H_
#define TESSERA_BENCH_SERVE_SERVE_TOPIC_H_
// Requests to a served DLRM, scores included: one caller, the next request after the answer;
// building the request, as a KeyedJaggedTensor from flat ids, is included. Requests at random
// times, through the queue: bench/serve/serve_bench.
#include "bench/harness/topic.h"

namespace tessera::bench {

const Topic& ServeTopic();

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_SERVE_SERVE_TOPIC_H_
