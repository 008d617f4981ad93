#include "bench/lab/kernel.h"

#include <exception>
#include <string>

#include "bench/lab/crash_names.h"
#include "bench/lab/interruptions.h"
#include "bench/lab/slow_check.h"
#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

constexpr int kThreads = 4, kRepeats = 10;
constexpr std::chrono::seconds kPatience{60};

// Calls check(where), which sets where it is. What it throws becomes an Error that says so and
// names the variant, as a crash and a check that takes long do.
void CheckNamed(const std::string& variant, const std::function<void(std::string& where)>& check) {
  const CrashNames crash("variant " + variant);
  const SlowCheck slow("variant " + variant, kPatience);
  std::string where;
  try {
    check(where);
  } catch (const Error& error) {
    throw Error(Format("variant {}: {}: {}", variant, where, error.what()));
  } catch (const std::exception& error) {
    throw Error(Format("variant {}: {}: it threw '{}'", variant, where, error.what()));
  } catch (...) {
    throw Error(
        Format("variant {}: {}: it threw something that is no std::exception", variant, where));
  }
}

}  // namespace

std::vector<Kernel>& Kernels() {
  static std::vector<Kernel> kernels;
  return kernels;
}

void CheckOnThreads(const std::string& variant, const std::function<void(Context&)>& hard,
                    const std::function<void()>& timed) {
  CheckNamed(variant, [&](std::string& where) {
    Context one({.threads = 1}), many({.threads = kThreads});
    where = "on a batch of edge cases, with 1 thread";
    hard(one);
    where = Format("on a batch of edge cases, with {} threads", kThreads);
    {
      const Interruptions interruptions(many);
      for (int i = 0; i < kRepeats; ++i) hard(many);
    }
    where = "on the timed batch";
    timed();
  });
}

void CheckAfterRounds(const std::string& variant, const std::function<void()>& timed) {
  CheckNamed(variant, [&](std::string& where) {
    where = "on the timed batch, after it was timed";
    timed();
  });
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
