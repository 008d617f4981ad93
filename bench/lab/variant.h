#ifndef TESSERA_BENCH_LAB_VARIANT_H_
#define TESSERA_BENCH_LAB_VARIANT_H_
// Variants of all kernels in the lab say who they are and which shapes they take.
//
// A variant is one file in bench/lab/variants, with one line that makes it known:
//
//   const RegisterLookup kMine({.name = "mine", .about = "what it does", .run = SumBags});
//
// Its parameters are axes of the topic: `.parameters = {{"ahead", {"64"}, "ids …", WholeFrom(0)}}`
// is the flag --ahead, and `.make` gives the function for a point's values.
#include <string>
#include <vector>

#include "bench/embedding/workload.h"
#include "bench/harness/topic.h"

namespace tessera::bench {

// The shapes that a variant takes beside f32, SUM without weights and dims of IsBareDim.
struct Takes {
  bool any_dim = false, any_type = false, weights = false, mean = false, sequences = false;
};

constexpr Takes kTakesAll = {true, true, true, true, true};

// "" where the variant takes the shape, else what it does not take: "--dim 48".
std::string NotTaken(const Takes& takes, const Shape& shape);

// The variants of one kernel, by name. Filled before main by objects of static storage.
template <typename Variant>
std::vector<Variant>& RegisteredVariants() {
  static std::vector<Variant> variants;
  return variants;
}

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LAB_VARIANT_H_
