#ifndef TESSERA_BENCH_LAB_LOOKUP_VARIANT_H_
#define TESSERA_BENCH_LAB_LOOKUP_VARIANT_H_
// Other ways to look rows up, each in a file of its own in bench/lab/variants, checked bit by bit
// and timed beside ours by `tessera bench lab`. A variant uses the context's threads as it likes.
#include <functional>
#include <string>
#include <vector>

#include "bench/lab/variant.h"
#include "embedding/lookup/lookup.h"
#include "runtime/context.h"

namespace tessera::bench {

using LookupFunction = std::function<void(Context&, const LookupArgs&)>;

struct LookupVariant {
  std::string name, about;
  Takes takes = {};
  LookupFunction run = nullptr;
  // With parameters, in place of `run`: the function for a point's values of them.
  std::vector<Axis> parameters = {};
  std::function<LookupFunction(const Point&)> make = nullptr;

  LookupFunction At(const Point& point) const { return make ? make(point) : run; }
};

struct RegisterLookup {
  explicit RegisterLookup(LookupVariant variant) {
    RegisteredVariants<LookupVariant>().push_back(std::move(variant));
  }
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LAB_LOOKUP_VARIANT_H_
