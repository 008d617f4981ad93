#ifndef TESSERA_BENCH_LAB_VARIANT_CHECK_H_
#define TESSERA_BENCH_LAB_VARIANT_CHECK_H_
// The lab's checks: every bit that a variant writes, on a hard batch, on one thread and several
// times on four that are interrupted all the time (interruptions.h).
#include <string>

#include "bench/lab/lookup_variant.h"
#include "bench/lab/update_variant.h"

namespace tessera::bench {

// Compares every output with the obvious loop's, bit by bit (bench/embedding/lookup_check.h); so
// does the library's own lookup. Throws Error that names the variant and what it got wrong.
void CheckLookupVariant(const std::string& name, const LookupFunction& run, const Shape& shape);

// Runs ours and the variant some steps from the same tables and compares all rows and states.
void CheckUpdateVariant(const std::string& name, const Grouping& run, const Shape& shape,
                        const AnyRule& rule);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LAB_VARIANT_CHECK_H_
