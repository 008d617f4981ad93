#ifndef TESSERA_RUNTIME_CONTEXT_H_
#define TESSERA_RUNTIME_CONTEXT_H_
// Where an op runs and what it may use: device, allocator, threads, random numbers, and the tape
// that records it. The first argument of every op; there is no hidden global. One Context serves
// one thread at a time; several may share a pool.
#include <memory>

#include "runtime/allocator.h"
#include "runtime/device.h"
#include "runtime/parallel.h"
#include "runtime/random.h"

namespace tessera {

class Tape;

// The queue that orders a device's work; a CPU has none, and null is the device's default queue.
struct Stream {
  void* handle = nullptr;
};

struct ContextOptions {
  Device device = Device::Cpu();
  int threads = 0;  // 0: all cores (or TESSERA_THREADS)
  uint64_t seed = 0;
  std::shared_ptr<ThreadPool> pool = nullptr;  // shared with another context; overrides `threads`
};

class Context {
 public:
  // Throws Error for a device that this build cannot run on.
  explicit Context(ContextOptions options = {});
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Device device() const { return device_; }
  Stream stream() const { return {}; }
  Allocator& allocator() const { return HostAllocator(); }
  ThreadPool& threads() { return *pool_; }
  std::shared_ptr<ThreadPool> pool() const { return pool_; }
  Random& random() { return random_; }

  // The tape that ops record themselves on; null when nothing is recorded (no Tape is alive, or a
  // NoGrad is).
  Tape* tape() const { return tape_; }

 private:
  friend class Tape;
  friend class NoGrad;
  Device device_;
  std::shared_ptr<ThreadPool> pool_;
  Random random_;
  Tape* tape_ = nullptr;
};

// See ThreadPool::For.
template <typename Fn>
void ParallelFor(Context& ctx, int64_t n, int64_t grain, Fn&& fn) {
  ctx.threads().For(n, grain, std::forward<Fn>(fn));
}

}  // namespace tessera
#endif  // TESSERA_RUNTIME_CONTEXT_H_
