#include "sharding/exchange/float_exchange.h"

#include <numeric>
#include <utility>

#include "comm/blocks.h"

namespace tessera {
namespace {

// Matrices begin at multiples of 4 bytes, where every codec may write.
int64_t WholeFloats(int64_t bytes) { return (bytes + 3) / 4 * 4; }

int64_t Elements(const MessageShapes& shapes) {
  int64_t n = 0;
  for (const Shape& s : shapes) n += s.numel();
  return n;
}

int64_t MessageBytes(const WireCodec& codec, const MessageShapes& shapes) {
  int64_t bytes = 0;
  for (const Shape& s : shapes)
    if (s.numel() > 0) bytes += WholeFloats(EncodedBytes(codec, s.numel(), s[1]));
  return bytes;
}

// The matrices of a message, and where their bytes are.
std::vector<WireSegment> MakeSegments(const WireCodec& codec, const Tensor& floats,
                                      const MessageShapes& shapes) {
  std::vector<WireSegment> segments;
  int64_t element = 0, byte = 0;
  for (const Shape& s : shapes) {
    if (s.numel() == 0) continue;
    segments.push_back({floats.Rows(element, element + s.numel()).Reshape(s), byte});
    element += s.numel();
    byte += WholeFloats(EncodedBytes(codec, s.numel(), s[1]));
  }
  return segments;
}

}  // namespace

std::vector<int64_t> SizesOf(const std::vector<MessageShapes>& messages) {
  std::vector<int64_t> sizes;
  for (const MessageShapes& shapes : messages) sizes.push_back(Elements(shapes));
  return sizes;
}

std::vector<Tensor> EmptyMessages(Context& ctx, const std::vector<int64_t>& sizes) {
  const int64_t total = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  return internal::CutFlat(Tensor::Empty(ctx, {total}), sizes);
}

Awaitable<std::vector<Tensor>> ExchangeFloats(Context& ctx, Communicator& comm,
                                              const WireCodec& codec, std::vector<Tensor> send,
                                              const std::vector<MessageShapes>& send_shapes,
                                              std::vector<MessageShapes> receive_shapes,
                                              std::string_view what) {
  if (codec.type == WireType::kFp32)
    return comm.AllToAllV(ctx, std::move(send), SizesOf(receive_shapes), what);
  std::vector<Tensor> bytes;
  std::vector<int64_t> counts;
  for (size_t r = 0; r < send.size(); ++r) {
    bytes.push_back(Tensor::Empty(ctx, {MessageBytes(codec, send_shapes[r])}, DType::kU8));
    EncodeSegments(ctx, codec, MakeSegments(codec, send[r], send_shapes[r]), bytes[r]);
    counts.push_back(MessageBytes(codec, receive_shapes[r]));
  }
  return comm.AllToAllV(ctx, std::move(bytes), std::move(counts), what)
      .Then([&ctx, codec, shapes = std::move(receive_shapes)](std::vector<Tensor> received) {
        std::vector<Tensor> floats;
        for (size_t r = 0; r < received.size(); ++r) {
          floats.push_back(Tensor::Empty(ctx, {Elements(shapes[r])}));
          DecodeSegments(ctx, codec, received[r], MakeSegments(codec, floats[r], shapes[r]));
        }
        return floats;
      });
}

}  // namespace tessera
