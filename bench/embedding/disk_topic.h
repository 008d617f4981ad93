#ifndef TESSERA_BENCH_EMBEDDING_DISK_TOPIC_H_
#define TESSERA_BENCH_EMBEDDING_DISK_TOPIC_H_
// `tessera bench disk`: steps of a DLRM whose table lies on disk behind a cache (tessera), beside
// the same steps with the table in memory (memory), and as many random reads of 4 KiB as the steps
// miss rows, past the page cache (the limit). All rows have been written to disk before.
//
//   share_of_bound     the disk's steps, as a share of the slower of the other two
//   share_of_memory    as a share of the steps in memory
//
// from the medians of the calls.
#include "bench/harness/topic.h"

namespace tessera::bench {

const Topic& DiskTopic();

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_EMBEDDING_DISK_TOPIC_H_
