#include "bench/lab/kernel.h"

#include "bench/lab/crash_names.h"
#include "bench/lab/interruptions.h"
#include "bench/lab/slow_check.h"
#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

constexpr int kThreads = 4, kRepeats = 10;
constexpr std::chrono::seconds kPatience{60};

}  // namespace

std::vector<Kernel>& Kernels() {
  static std::vector<Kernel> kernels;
  return kernels;
}

void CheckOnThreads(const std::string& variant, const std::function<void(Context&)>& hard,
                    const std::function<void()>& timed) {
  const CrashNames crash("variant " + variant);
  const SlowCheck slow("variant " + variant, kPatience);
  const char* batch = "a batch of edge cases";
  try {
    Context one({.threads = 1}), many({.threads = kThreads});
    hard(one);
    {
      const Interruptions interruptions(many);
      for (int i = 0; i < kRepeats; ++i) hard(many);
    }
    batch = "the timed batch";
    timed();
  } catch (const Error& error) {
    throw Error(Format("variant {}: on {}: {}", variant, batch, error.what()));
  } catch (...) {
    throw Error(Format("variant {}: it threw something that is no tessera::Error", variant));
  }
}

std::string NameWithTolerance(const std::string& variant, double tolerance) {
  TESSERA_CHECK(tolerance > 0,
                "variant {} has other sums: variants of this kernel have every bit of ours",
                variant);
  return Format("{} ({:.0e})", variant, tolerance);
}

std::string ToleranceNote(const std::string& variant, double tolerance) {
  return Format("{}: sums in another order than ours, within {:.2g} of their terms' magnitudes",
                variant, tolerance);
}

}  // namespace tessera::bench
