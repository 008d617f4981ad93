#ifndef TESSERA_TESTS_CONFORMANCE_SHARDING_CASE_H_
#define TESSERA_TESTS_CONFORMANCE_SHARDING_CASE_H_
// The parts of kind `sharding` that play all ranks, as threads.
#include "tests/conformance/case.h"

namespace tessera::conformance {

Answer InputDistOf(Context& ctx, const Case& c);
Answer TrainShardedOf(Context& ctx, const Case& c);

}  // namespace tessera::conformance
#endif  // TESSERA_TESTS_CONFORMANCE_SHARDING_CASE_H_
