#include "runtime/staging.h"

#include <algorithm>

#include "runtime/device/dispatch.h"
#include "runtime/tensor_impl.h"

namespace tessera {
namespace {

struct Piece {
  int64_t begin, count;
};

// Piece `index` of `bytes`; empty past the last. A build for the CPU alone does not call it.
[[maybe_unused]] Piece PieceOf(int64_t index, int64_t bytes) {
  const int64_t begin = std::min(index * kPieceBytes, bytes);
  return {begin, std::min(kPieceBytes, bytes - begin)};
}

// A pinned buffer, and when the last copy from or to it is done.
struct Buffer {
  Tensor bytes;
  Event copied;
};

// Two of them, used in turn.
class Buffers {
 public:
  Buffers(Context& ctx, int64_t bytes) {
    for (Buffer& buffer : buffers_)
      buffer.bytes = Tensor::EmptyPinned(ctx, {std::min(bytes, kPieceBytes)}, DType::kU8);
  }
  Buffer& operator[](int64_t index) { return buffers_[index % 2]; }

 private:
  Buffer buffers_[2];
};

void CheckPieces(Context& ctx, const Tensor& tensor) {
  TESSERA_CHECK(tensor.is_contiguous(), "bytes of a tensor {} that is not contiguous",
                tensor.shape());
  if (tensor.device() != Device::Cpu()) CheckDevice(ctx, "bytes of a tensor", tensor);
}

// These are templates so that a build for the CPU does not need the functions that they call.
template <typename On>
void ReadOnDevice(On on, Context& ctx, const Tensor& tensor,
                  const std::function<void(const void*, int64_t)>& fn) {
  const char* from = static_cast<const char*>(tensor.raw_data());
  const int64_t bytes = tensor.nbytes();
  Buffers buffers(ctx, bytes);
  const auto ask = [&](int64_t index) {
    const auto [begin, count] = PieceOf(index, bytes);
    Buffer& buffer = buffers[index];
    internal::CopyBytes(on, ctx.stream(), buffer.bytes.raw_data(), from + begin, count);
    buffer.copied = Event::Record(ctx.stream());
  };
  ask(0);
  for (int64_t index = 0; PieceOf(index, bytes).count > 0; ++index) {
    ask(index + 1);
    buffers[index].copied.Sync();
    fn(buffers[index].bytes.raw_data(), PieceOf(index, bytes).count);
  }
}

template <typename On>
void WriteOnDevice(On on, Context& ctx, const Tensor& tensor,
                   const std::function<void(void*, int64_t)>& fn) {
  char* to = static_cast<char*>(tensor.raw_data());
  const int64_t bytes = tensor.nbytes();
  Buffers buffers(ctx, bytes);
  for (int64_t index = 0; PieceOf(index, bytes).count > 0; ++index) {
    const auto [begin, count] = PieceOf(index, bytes);
    Buffer& buffer = buffers[index];
    buffer.copied.Sync();
    fn(buffer.bytes.raw_data(), count);
    internal::CopyBytes(on, ctx.stream(), to + begin, buffer.bytes.raw_data(), count);
    buffer.copied = Event::Record(ctx.stream());
  }
}

}  // namespace

void ReadPieces(Context& ctx, const Tensor& tensor,
                const std::function<void(const void*, int64_t)>& fn) {
  CheckPieces(ctx, tensor);
  if (tensor.device() == Device::Cpu() && tensor.numel() > 0)
    fn(tensor.raw_data(), tensor.nbytes());
  OnlyOnCuda(tensor.device(), [&](auto on) { ReadOnDevice(on, ctx, tensor, fn); });
}

void WritePieces(Context& ctx, const Tensor& tensor,
                 const std::function<void(void*, int64_t)>& fn) {
  CheckPieces(ctx, tensor);
  if (tensor.device() == Device::Cpu() && tensor.numel() > 0)
    fn(tensor.raw_data(), tensor.nbytes());
  OnlyOnCuda(tensor.device(), [&](auto on) { WriteOnDevice(on, ctx, tensor, fn); });
}

HostCopy::HostCopy(Context& ctx, const Tensor& tensor) : host_(tensor) {
  CheckPieces(ctx, tensor);
  OnlyOnCuda(tensor.device(), [&](auto on) {
    host_ = Tensor::EmptyPinned(ctx, tensor.shape(), tensor.dtype());
    internal::CopyBytes(on, ctx.stream(), host_.raw_data(), tensor.raw_data(), tensor.nbytes());
    there_ = Event::Record(ctx.stream());
  });
}

}  // namespace tessera
