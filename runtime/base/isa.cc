#include "runtime/base/isa.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <atomic>
#include <cstdlib>

#include "runtime/base/check.h"

namespace tessera {
namespace {

#if defined(__x86_64__)
constexpr IsaLevel kLevels[] = {IsaLevel::kBaseline, IsaLevel::kAvx2, IsaLevel::kAvx512};
constexpr const char* kNameOfBaseline = "baseline";
constexpr bool kBaselineHasFma = false;
#elif defined(__aarch64__)
constexpr IsaLevel kLevels[] = {IsaLevel::kBaseline};
constexpr const char* kNameOfBaseline = "neon";
constexpr bool kBaselineHasFma = true;
#else
#error "expected x86-64 or aarch64"
#endif

IsaLevel Detect() {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2"))
    return IsaLevel::kBaseline;  // no CPU with AVX2 lacks them
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
    return IsaLevel::kAvx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && CpuHasF16c())
    return IsaLevel::kAvx2;
#endif
  return IsaLevel::kBaseline;
}

IsaLevel FromEnvironment() {
  const char* text = std::getenv("TESSERA_ISA");
  if (text == nullptr) return BestIsa();
  for (const IsaLevel level : CompiledIsaLevels()) {
    if (text != ToString(level)) continue;
    TESSERA_CHECK(level <= BestIsa(), "TESSERA_ISA={}: this CPU has {} at most", text, BestIsa());
    return level;
  }
  TESSERA_FAIL("TESSERA_ISA={}: expected {}", text, IsaNames());
}

std::atomic<int> forced{-1};

}  // namespace

std::string ToString(IsaLevel level) {
  return level == IsaLevel::kAvx512 ? "avx512"
         : level == IsaLevel::kAvx2 ? "avx2"
                                    : kNameOfBaseline;
}

std::span<const IsaLevel> CompiledIsaLevels() { return kLevels; }

std::string IsaNames() {
  std::string names;
  for (const IsaLevel level : CompiledIsaLevels()) {
    if (!names.empty()) names += level == CompiledIsaLevels().back() ? " or " : ", ";
    names += ToString(level);
  }
  return names;
}

bool CpuHasF16c() {
#if defined(__x86_64__)
  unsigned int eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
#else
  return false;
#endif
}

bool HasFma(IsaLevel level) { return level != IsaLevel::kBaseline || kBaselineHasFma; }

IsaLevel BestIsa() {
  static const IsaLevel best = Detect();
  return best;
}

IsaLevel ChosenIsa() {
  if (const int level = forced.load(std::memory_order_relaxed); level >= 0)
    return static_cast<IsaLevel>(level);
  static const IsaLevel from_environment = FromEnvironment();
  return from_environment;
}

void SetIsa(IsaLevel level) {
  TESSERA_CHECK(level <= BestIsa(), "instruction set {}: this CPU has {} at most", level,
                BestIsa());
  forced.store(static_cast<int>(level), std::memory_order_relaxed);
}

}  // namespace tessera
