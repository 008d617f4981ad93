#ifndef TESSERA_BENCH_HARNESS_ROUNDS_H_
#define TESSERA_BENCH_HARNESS_ROUNDS_H_
// The rounds of one point: in each, its contenders and its limit are timed once, in an order that
// turns round from one round to the next.
#include <functional>
#include <string>
#include <vector>

#include "bench/facts/call_counters.h"
#include "bench/harness/cache_flusher.h"
#include "bench/harness/topic.h"
#include "runtime/context.h"

namespace tessera::bench {

class Rounds {
 public:
  // Calls each contender for the first time. flusher: of caches before each call; null: warm, when
  // short calls are timed as often in a row as a millisecond takes. REQUIRES: context and flusher
  // outlive this.
  Rounds(Context& ctx, const Work& work, CacheFlusher* flusher);

  size_t size() const { return contenders_.size(); }  // the limit is the last one
  int calls() const { return calls_[0]; }             // of ours in a round

  // Seconds of one call of each contender.
  std::vector<double> Next();
  // `count` rounds, as repetitions of one benchmark of Google Benchmark: for each contender its
  // seconds of each round. between: called before each with its number.
  std::vector<std::vector<double>> Repeat(const std::string& name, int count,
                                          const std::function<void(int)>& between);

  // The calls of a round of contender `c`, to be counted.
  CountedCalls Counted(size_t c);

 private:
  int CallsOf(const Contender& contender);
  void Prepare(const Contender& contender, int round);
  double Time(const Contender& contender, int calls);

  Context& ctx_;
  CacheFlusher* flusher_;
  std::vector<Contender> contenders_;
  std::vector<int> calls_;
  int round_ = 0;
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_HARNESS_ROUNDS_H_
