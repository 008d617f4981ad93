#ifndef TESSERA_BENCH_LAB_LOOKUP_VARIANTS_H_
#define TESSERA_BENCH_LAB_LOOKUP_VARIANTS_H_
// Other ways to look rows up, checked against the reference and timed beside ours by `tessera bench
// lab`. Each is a function of its own; a line in lookup_variants.cc makes it known.
//
// A variant need only take what the lab gives: rows and outputs of f32, SUM without weights, dims
// of IsBareDim. It uses the context's threads as it likes.
#include <string>
#include <vector>

#include "embedding/lookup/lookup.h"
#include "runtime/context.h"

namespace tessera::bench {

struct LookupVariant {
  std::string name, about;
  void (*run)(Context& ctx, const LookupArgs& args);
};
const std::vector<LookupVariant>& LookupVariants();

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LAB_LOOKUP_VARIANTS_H_
