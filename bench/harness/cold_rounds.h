#ifndef TESSERA_BENCH_HARNESS_COLD_ROUNDS_H_
#define TESSERA_BENCH_HARNESS_COLD_ROUNDS_H_
// Times several ways of doing one thing in alternation, so that the noise of a machine hits all
// alike, each from cold caches.
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "runtime/base/machine.h"
#include "runtime/context.h"

namespace tessera::bench {

struct Contender {
  std::string name;
  std::function<void(int round)> run;
  std::function<void(int round)> before = nullptr;  // done before each run, and not timed
  // Throws Error where its result is wrong. Called once, untimed, by RunPoints, which then leaves
  // the contender out.
  std::function<void()> check = nullptr;
  // The like, called once when rounds have been timed: it finds who is right only while checked.
  std::function<void()> check_after = nullptr;
};

template <typename Work>
double SecondsOf(Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Timing {
  std::string name;
  std::vector<double> seconds;  // one a round
  double Median() const;
  double Quantile(double q) const;
};

// `rounds` times: for each contender, all threads read `flush_bytes` (0: twice the last-level
// cache), then its run is timed.
std::vector<Timing> TimeCold(Context& ctx, const std::vector<Contender>& contenders, int rounds,
                             int64_t flush_bytes = 0);

// Median over rounds of reference / timing: how much of the reference's speed was reached.
double Share(const Timing& reference, const Timing& timing);

using tessera::MachineName;  // for the head of a table of results

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_HARNESS_COLD_ROUNDS_H_
