#ifndef TESSERA_BENCH_LAB_CUDA_DEVICE_BYTES_H_
#define TESSERA_BENCH_LAB_CUDA_DEVICE_BYTES_H_
// Memory of the host between guards (bench/lab/guarded_bytes.h) once more in that of a context's
// device, guards and all, so that what a kernel writes beside it is seen.
#include "bench/lab/cuda/device_batch.h"
#include "bench/lab/guarded_bytes.h"
#include "runtime/context.h"
#include "runtime/tensor.h"

namespace tessera::bench {

class DeviceBytes {
 public:
  // Copies the host's. REQUIRES: `host` outlives it, and keeps its size.
  DeviceBytes(Context& ctx, GuardedBytes& host)
      : ctx_(&ctx), host_(&host), copy_(All().Clone(ctx)) {}

  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(static_cast<char*>(copy_.raw_data()) + GuardedBytes::kGuard);
  }
  // Copies the host's as they are now.
  void Send() const { copy_.CopyFrom(*ctx_, All()); }
  // Copies these to the host. Waits for the device, first for kernels, as CopyOutputsBack does.
  void CopyBack() const {
    ctx_->Sync();
    All().CopyFrom(*ctx_, copy_);
    ctx_->Sync();
  }

 private:
  Tensor All() const {
    const auto all = host_->all();
    return Bytes(all.data(), std::ssize(all));
  }

  Context* ctx_;
  GuardedBytes* host_;
  Tensor copy_;
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LAB_CUDA_DEVICE_BYTES_H_
