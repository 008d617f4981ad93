#ifndef TESSERA_RUNTIME_STAGING_H_
#define TESSERA_RUNTIME_STAGING_H_
// Tensors as bytes on the host, a piece at a time: those of a GPU pass by two pinned buffers of
// kPieceBytes, one of which is copied while the host works on the other. A table is never there
// twice.
#include <functional>

#include "runtime/tensor.h"

namespace tessera {

inline constexpr int64_t kPieceBytes = 8 << 20;

// fn(bytes, count) for the tensor's bytes, in order. REQUIRES: contiguous, in host memory or on
// ctx's device.
void ReadPieces(Context& ctx, const Tensor& tensor,
                const std::function<void(const void*, int64_t)>& fn);
// Lets fn write the pieces. The tensor's earlier values are lost if fn throws.
void WritePieces(Context& ctx, const Tensor& tensor, const std::function<void(void*, int64_t)>& fn);

// A tensor's values on their way to the host; nobody waits before Wait. What lies in host memory is
// there. REQUIRES: contiguous, in host memory or on ctx's device.
class HostCopy {
 public:
  HostCopy(Context& ctx, const Tensor& tensor);
  // Whether Wait would return at once.
  bool there() const { return there_.done(); }
  const Tensor& Wait() const {
    there_.Sync();
    return host_;
  }

 private:
  Tensor host_;
  Event there_;
};

}  // namespace tessera
#endif  // TESSERA_RUNTIME_STAGING_H_
