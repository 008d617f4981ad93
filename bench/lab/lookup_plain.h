#ifndef TESSERA_BENCH_LAB_LOOKUP_PLAIN_H_
#define TESSERA_BENCH_LAB_LOOKUP_PLAIN_H_
// A lookup variant for the lab: the plain loop.
#include "embedding/lookup/lookup.h"
#include "runtime/context.h"

namespace tessera::bench {

// The obvious loop, as the compiler makes it: sums in memory, nothing asked for ahead.
void LookupPlain(Context& ctx, const LookupArgs& args);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LAB_LOOKUP_PLAIN_H_
