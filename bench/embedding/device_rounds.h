#ifndef TESSERA_BENCH_EMBEDDING_DEVICE_ROUNDS_H_
#define TESSERA_BENCH_EMBEDDING_DEVICE_ROUNDS_H_
// Times work on a device from cold caches, several contenders in turn, beside a plain copy in the
// same memory.
#include <cstdint>
#include <functional>
#include <vector>

#include "bench/harness/cold_rounds.h"
#include "runtime/context.h"
#include "runtime/tensor.h"

namespace tessera::bench {

// Seconds of the wall for `run` and all that ctx's device has to do.
double WallSeconds(Context& ctx, const std::function<void()>& run);

class DeviceRounds {
 public:
  // flush_bytes: written before each timed call, and copied by Copy().
  DeviceRounds(Context& ctx, int rounds, int64_t flush_bytes);

  // Seconds of the device alone on a GPU, of the wall on a CPU. The first round of each contender
  // pays for memory and code, and does not count.
  std::vector<Timing> Time(const std::vector<Contender>& contenders);
  Contender Copy();
  // Bytes that the copy reads and writes.
  double copied_bytes() const { return 2.0 * static_cast<double>(source_.nbytes()); }

 private:
  Context& ctx_;
  int rounds_;
  Tensor source_, target_;
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_EMBEDDING_DEVICE_ROUNDS_H_
