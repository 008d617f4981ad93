#ifndef TESSERA_BENCH_QUANT_QUANT_TOPIC_H_
#define TESSERA_BENCH_QUANT_QUANT_TOPIC_H_
// Lookups from stored rows, and encoding of tables, beside bare loops that read and write as many
// bytes and decode nothing.
#include "bench/harness/topic.h"

namespace tessera::bench {

const Topic& QuantTopic();

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_QUANT_QUANT_TOPIC_H_
