#ifndef TESSERA_BENCH_LAB_UPDATE_CHECK_H_
#define TESSERA_BENCH_LAB_UPDATE_CHECK_H_
// The lab's check of update variants against ours.
#include "bench/embedding/workload.h"
#include "bench/lab/update_variants.h"
#include "runtime/context.h"

namespace tessera::bench {

// Runs ours and the variant some steps from the same tables, of this shape but with fewer rows and
// bags, and compares all rows and states. Throws Error that names the variant, table, row and
// column where they differ.
void CheckUpdateVariant(Context& ctx, const Shape& shape, const AnyRule& rule,
                        const UpdateVariant& variant);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LAB_UPDATE_CHECK_H_
