#ifndef TESSERA_RUNTIME_BASE_ISA_H_
#define TESSERA_RUNTIME_BASE_ISA_H_
// Which instruction set runs: the namespaces that isa_library (tools/isa.bzl) compiles a *_simd.cc
// into. On x86-64 a CPU has one of three levels; on aarch64 every CPU has NEON, the only one.
#include <span>
#include <string>

namespace tessera {

enum class IsaLevel { kBaseline, kAvx2, kAvx512 };
// "baseline" (on aarch64 "neon"), "avx2", "avx512".
std::string ToString(IsaLevel level);

// The levels of this program, the lowest first, whether or not this CPU has them.
std::span<const IsaLevel> CompiledIsaLevels();
// Their names as a sentence lists them: "baseline, avx2 or avx512".
std::string IsaNames();

// The best level this CPU has.
IsaLevel BestIsa();
// Whether a level multiplies and adds in one instruction. Without, Fma takes some 30 times as long.
bool HasFma(IsaLevel level);
// Whether this CPU converts f16 by an instruction, which every CPU with AVX2 does. Clang's
// __builtin_cpu_supports does not know its name.
bool CpuHasF16c();

// The level that every loop uses: TESSERA_ISA from the environment if set, else the best. Throws
// Error for a name that is no level or a level that this CPU lacks. It changes no bit of a result,
// unless Eigen makes the dense products (DenseProducts::kEigen in runtime/context.h).
IsaLevel ChosenIsa();
// Overrides ChosenIsa, for tests and research. REQUIRES: level <= BestIsa().
void SetIsa(IsaLevel level);

}  // namespace tessera

// Where the levels' namespaces are visible: TESSERA_FOR_EACH_ISA(X) is X(namespace) for each, which
// declares what a *_simd.cc defines; TESSERA_OF_CHOSEN_ISA(name) is the chosen level's `name`, such
// as a table of functions; TESSERA_CALL_ISA calls namespace::fn(args…) of the given level.
#if defined(__x86_64__)
#define TESSERA_FOR_EACH_ISA(X) X(baseline) X(avx2) X(avx512)
#define TESSERA_OF_CHOSEN_ISA(name)                                      \
  (::tessera::ChosenIsa() == ::tessera::IsaLevel::kAvx512 ? avx512::name \
   : ::tessera::ChosenIsa() == ::tessera::IsaLevel::kAvx2 ? avx2::name   \
                                                          : baseline::name)
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
#else
#define TESSERA_FOR_EACH_ISA(X) X(baseline)
#define TESSERA_OF_CHOSEN_ISA(name) (baseline::name)
#define TESSERA_CALL_ISA(level, fn, ...) \
  do {                                   \
    static_cast<void>(level);            \
    baseline::fn(__VA_ARGS__);           \
  } while (false)
#endif

#endif  // TESSERA_RUNTIME_BASE_ISA_H_
