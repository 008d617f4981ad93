#ifndef TESSERA_BENCH_EMBEDDING_LOOKUP_CHECK_H_
#define TESSERA_BENCH_EMBEDDING_LOOKUP_CHECK_H_
// The obvious loop beside what a lookup wrote: one id after another, each column alone, in float.
#include "embedding/lookup/lookup.h"

namespace tessera::bench {

// Compares every output of every feature bit by bit. Throws Error, naming feature, output and
// column, where one is wrong. REQUIRES: rows and outputs on the host.
void CheckLookup(const LookupArgs& args);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_EMBEDDING_LOOKUP_CHECK_H_
