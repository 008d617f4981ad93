#ifndef TESSERA_BENCH_LAB_VARIANT_H_
#define TESSERA_BENCH_LAB_VARIANT_H_
// A variant of any kernel says who it is, what it takes, and which parameters it has.
//
// A variant is one file in bench/lab/variants, with one line that makes it known. Its kernel is the
// one that has these arguments (<kernel>_kernel.cc):
//
//   const RegisterVariant<LookupArgs> kMine({.name = "mine", .about = "what it does"}, LookupMine);
//
// LookupMine is a void(Context&, const LookupArgs&), which uses the context's threads as it likes.
// With parameters, which are axes of the topic (`.parameters = {{"ahead", {"64"}, "ids …",
// WholeFrom(0)}}` is the flag --ahead), it is a KernelFunction<LookupArgs>(const Point&) that gives
// the function for a point's values.
#include <functional>
#include <map>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/topic.h"
#include "runtime/base/check.h"
#include "runtime/context.h"

namespace tessera::bench {

// The shapes that a variant takes beside f32 (stored rows: int8), SUM without weights and dims of
// IsBareDim.
struct Takes {
  bool any_dim = false, any_type = false, any_codec = false;
  bool weights = false, mean = false, sequences = false;
};

constexpr Takes kTakesAll = {true, true, true, true, true, true};

// "" where the variant takes the point's shape, else what it does not take: "--row-type f16 (it
// takes f32)".
std::string NotTaken(const Takes& takes, const Point& point);

struct Variant {
  std::string name, about;
  Takes takes = {};
  std::vector<Axis> parameters = {};
  // Its sums have another order than ours: where the kernel knows by how much that may change an
  // element, the element may differ by as much. Without it, every bit is ours.
  bool other_sums = false;
  std::string source = {};  // "file:line" of its registration, which sets it
};

inline std::string SourceText(const std::source_location& source) {
  return Format("{}:{}", source.file_name(), source.line());
}

// Throws Error where two of the variants have one name. of: "--kernel lookup".
template <typename AnyVariant>
void CheckNamesDiffer(const std::vector<AnyVariant>& variants, const std::string& of) {
  std::map<std::string, std::string> sources;
  for (const AnyVariant& variant : variants) {
    const auto [other, is_new] = sources.emplace(variant.name, variant.source);
    if (!is_new)
      throw Error(Format("two variants of {} are called '{}': {} and {}; give one another name", of,
                         variant.name, other->second, variant.source));
  }
}

template <typename Args>
using KernelFunction = std::function<void(Context&, const Args&)>;

template <typename Args>
struct RegisteredVariant {
  Variant variant;
  std::function<KernelFunction<Args>(const Point&)> make;
};

// The variants of one kernel. Filled before main by objects of static storage.
template <typename Args>
std::vector<RegisteredVariant<Args>>& VariantsOf() {
  static std::vector<RegisteredVariant<Args>> variants;
  return variants;
}

template <typename Args>
struct RegisterVariant {
  using Source = std::source_location;

  RegisterVariant(Variant variant, KernelFunction<Args> (*make)(const Point&),
                  const Source& source = Source::current()) {
    variant.source = SourceText(source);
    VariantsOf<Args>().push_back({std::move(variant), make});
  }
  RegisterVariant(Variant variant, void (*run)(Context&, const Args&),
                  const Source& source = Source::current()) {
    variant.source = SourceText(source);
    VariantsOf<Args>().push_back({std::move(variant), [run](const Point&) { return run; }});
  }
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LAB_VARIANT_H_
