#ifndef TESSERA_BENCH_LAB_LOOKUP_POLICIES_H_
#define TESSERA_BENCH_LAB_LOOKUP_POLICIES_H_
// Our lookup with one of its choices made otherwise. Ours: rows asked for 64 ids ahead, into the
// second-level cache, sums written past the caches, one bag after another. Compiled for the machine
// at hand.
#include "embedding/lookup/lookup.h"
#include "runtime/context.h"

namespace tessera::bench {

void LookupAhead0(Context& ctx, const LookupArgs& args);  // nothing asked for
void LookupAhead8(Context& ctx, const LookupArgs& args);  // ids ahead
void LookupAhead16(Context& ctx, const LookupArgs& args);
void LookupAhead256(Context& ctx, const LookupArgs& args);
void LookupAhead16L1(Context& ctx, const LookupArgs& args);  // FBGEMM's way
void LookupAhead64L1(Context& ctx, const LookupArgs& args);
void LookupPlainStores(Context& ctx, const LookupArgs& args);  // through the caches
void LookupTwoBags(Context& ctx, const LookupArgs& args);      // summed side by side

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LAB_LOOKUP_POLICIES_H_
