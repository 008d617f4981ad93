#ifndef TESSERA_BENCH_TOPICS_H_
#define TESSERA_BENCH_TOPICS_H_
// Every topic of `tessera bench`, in the order of its list.
#include <vector>

#include "bench/harness/topic.h"

namespace tessera::bench {

// They live as long as the program.
std::vector<const Topic*> Topics();

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_TOPICS_H_
