#ifndef TESSERA_SHARDING_EXCHANGE_FLOAT_EXCHANGE_H_
#define TESSERA_SHARDING_EXCHANGE_FLOAT_EXCHANGE_H_
// An all-to-all of matrices of f32, written on the way as a wire codec says (quant/wire_codec.h).
#include <string_view>
#include <vector>

#include "comm/communicator.h"
#include "quant/wire_codec.h"
#include "runtime/tensor.h"

namespace tessera {

// The matrices of a message, one after another.
using MessageShapes = std::vector<Shape>;
// Elements of each message.
std::vector<int64_t> SizesOf(const std::vector<MessageShapes>& messages);
// Messages of so many elements, of f32, one behind another in memory.
std::vector<Tensor> EmptyMessages(Context& ctx, const std::vector<int64_t>& sizes);

// send[r], one-dimensional, holds the matrices send_shapes[r] for rank r; the result's [r] those of
// receive_shapes[r] from rank r. Under fp32 nothing is copied.
Awaitable<std::vector<Tensor>> ExchangeFloats(Context& ctx, Communicator& comm,
                                              const WireCodec& codec, std::vector<Tensor> send,
                                              const std::vector<MessageShapes>& send_shapes,
                                              std::vector<MessageShapes> receive_shapes,
                                              std::string_view what);

}  // namespace tessera
#endif  // TESSERA_SHARDING_EXCHANGE_FLOAT_EXCHANGE_H_
