#ifndef TESSERA_BENCH_LAB_INTERRUPTIONS_H_
#define TESSERA_BENCH_LAB_INTERRUPTIONS_H_
// Stops each thread of a context again and again in the middle of what it does, so that the others
// go on meanwhile: threads that share what they should not are then found on a single core, too.
#include <vector>

#include "runtime/context.h"

namespace tessera::bench {

class Interruptions {
 public:
  // Each thread gets a timer, whose signal (SIGURG, which nothing else here uses) lets it sleep for
  // a moment. REQUIRES: no other one is alive; the context outlives it.
  explicit Interruptions(Context& ctx);
  ~Interruptions();
  Interruptions(const Interruptions&) = delete;
  Interruptions& operator=(const Interruptions&) = delete;

 private:
  std::vector<void*> timers_;  // timer_t
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LAB_INTERRUPTIONS_H_
