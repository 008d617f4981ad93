#ifndef TESSERA_RUNTIME_BASE_ISA_H_
#define TESSERA_RUNTIME_BASE_ISA_H_
// Which x86 level runs: the namespaces that isa_library (tools/isa.bzl) compiles a *_simd.cc into.
#include <string>

namespace tessera {

enum class IsaLevel { kBaseline, kAvx2, kAvx512 };
std::string ToString(IsaLevel level);  // "baseline", "avx2", "avx512"

// The best level this CPU has.
IsaLevel BestIsa();

// The level that every loop uses: TESSERA_ISA from the environment if set, else the best. Throws
// Error for a name that is no level or a level that this CPU lacks. It changes no bit of a result,
// unless Eigen makes the dense products (DenseProducts::kEigen in runtime/context.h).
IsaLevel ChosenIsa();
// Overrides ChosenIsa, for tests and research. REQUIRES: level <= BestIsa().
void SetIsa(IsaLevel level);

// The one of three things, such as tables of functions, that belongs to the chosen level.
template <typename T>
const T& ForChosenIsa(const T& baseline, const T& avx2, const T& avx512) {
  const IsaLevel level = ChosenIsa();
  return level == IsaLevel::kAvx512 ? avx512 : level == IsaLevel::kAvx2 ? avx2 : baseline;
}

}  // namespace tessera

// X(namespace) for every level: declares what a *_simd.cc defines for each.
#define TESSERA_FOR_EACH_ISA(X) X(baseline) X(avx2) X(avx512)

// Calls namespace::fn(args…) of the given level, where the levels' namespaces are visible.
#define TESSERA_CALL_ISA(level, fn, ...)   \
  do {                                     \
    switch (level) {                       \
      case ::tessera::IsaLevel::kAvx512:   \
        avx512::fn(__VA_ARGS__);           \
        break;                             \
      case ::tessera::IsaLevel::kAvx2:     \
        avx2::fn(__VA_ARGS__);             \
        break;                             \
      case ::tessera::IsaLevel::kBaseline: \
        baseline::fn(__VA_ARGS__);         \
        break;                             \
    }                                      \
  } while (false)

#endif  // TESSERA_RUNTIME_BASE_ISA_H_
