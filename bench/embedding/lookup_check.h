#ifndef TESSERA_BENCH_EMBEDDING_LOOKUP_CHECK_H_
#define TESSERA_BENCH_EMBEDDING_LOOKUP_CHECK_H_
// The obvious loop, in double, beside what a lookup wrote.
#include "embedding/lookup/lookup.h"

namespace tessera::bench {

// Compares some outputs of every feature, the first and the last among them. Throws Error, naming
// feature and place, where one is wrong. REQUIRES: f32 rows and outputs, on the host.
void CheckLookup(const LookupArgs& args);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_EMBEDDING_LOOKUP_CHECK_H_
