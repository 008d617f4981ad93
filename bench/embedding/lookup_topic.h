#ifndef TESSERA_BENCH_EMBEDDING_LOOKUP_TOPIC_H_
#define TESSERA_BENCH_EMBEDDING_LOOKUP_TOPIC_H_
// The forward of many tables. Two ways in: `op`, Lookup on arguments and an output that lie ready,
// beside the bare gather of the same rows; and `module`, TableBatchedEmbedding::Forward of a
// KeyedJaggedTensor, without a tape, beside EmbeddingBagCollection's, where calls of few ids show
// what a call costs. Bytes: the rows of all ids, the
// ids and the output, once each.
#include "bench/harness/topic.h"

namespace tessera::bench {

const Topic& LookupTopic();

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_EMBEDDING_LOOKUP_TOPIC_H_
