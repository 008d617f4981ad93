#ifndef TESSERA_RUNTIME_CONTEXT_H_
#define TESSERA_RUNTIME_CONTEXT_H_
// A Context says where an op runs and what it may use: device, allocator, threads, random numbers,
// and the tape that records it. The first argument of every op; there is no hidden global. One
// Context serves one thread at a time; several may share a pool.
#include <memory>
#include <string>

#include "runtime/base/parallel.h"
#include "runtime/device/allocator.h"
#include "runtime/device/device.h"
#include "runtime/device/stream.h"
#include "runtime/numbers/random.h"

namespace tessera {

class Accumulation;
class Tape;

// Who multiplies matrices of f32. kPortable: Tessera's own products, whose bits are the same on
// every machine and device (runtime/ops/gemm.h). kLibrary: Eigen on a CPU; on a GPU cuBLAS, where
// the machine has it. kTf32, kBf16: cuBLAS on a GPU's tensor cores, which sum in f32 the products
// of factors rounded to 10 (TF32) or 7 (bf16) bits of mantissa; the tensors stay f32. kDefault:
// kPortable on a CPU, kLibrary on a GPU.
enum class DenseProducts { kDefault, kPortable, kLibrary, kTf32, kBf16 };
// "default", "portable", "library", "tf32", "bf16".
std::string ToString(DenseProducts products);

struct ContextOptions {
  Device device = Device::Cpu();
  int threads = 0;  // 0: all cores (or TESSERA_THREADS)
  uint64_t seed = 0;
  std::shared_ptr<ThreadPool> pool = nullptr;  // shared with another context; overrides `threads`
  DenseProducts dense_products = DenseProducts::kDefault;
};

class Context {
 public:
  // Cheap. Throws Error for a device that this build or machine cannot run on, and for products
  // that the device cannot make.
  explicit Context(ContextOptions options = {});
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Device device() const { return device_; }
  // Stream of this context. On a GPU every context has a stream of its own: two contexts work at
  // the same time.
  const Stream& stream() const { return stream_; }
  Allocator& allocator() const { return *allocator_; }
  ThreadPool& threads() { return *pool_; }
  std::shared_ptr<ThreadPool> pool() const { return pool_; }
  Random& random() { return random_; }
  DenseProducts dense_products() const { return dense_products_; }  // never kDefault

  // Waits for all that ops on this context were given. Ops do not wait for the device: their
  // results are there for later ops on the same context.
  void Sync() const { stream_.Sync(); }
  // Lets work given to this context from now on wait for the work given to `other` so far.
  void WaitFor(const Context& other) const { Event::Record(other.stream_).HoldBack(stream_); }

  // The tape that ops record themselves on; null when nothing is recorded (no Tape is alive, or a
  // NoGrad is).
  Tape* tape() const { return tape_; }
  // The step that the innermost tape accumulates, in backward too; null where a pass is a step.
  const Accumulation* accumulation() const { return accumulation_; }

 private:
  friend class Tape;
  friend class NoGrad;
  Device device_;
  Stream stream_;
  Allocator* allocator_;
  std::shared_ptr<ThreadPool> pool_;
  Random random_;
  DenseProducts dense_products_;
  Tape* tape_ = nullptr;
  Accumulation* accumulation_ = nullptr;
};

// See ThreadPool::For.
template <typename Fn>
void ParallelFor(Context& ctx, int64_t n, int64_t grain, Fn&& fn) {
  ctx.threads().For(n, grain, std::forward<Fn>(fn));
}

}  // namespace tessera
#endif  // TESSERA_RUNTIME_CONTEXT_H_
