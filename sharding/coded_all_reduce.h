#ifndef TESSERA_SHARDING_CODED_ALL_REDUCE_H_
#define TESSERA_SHARDING_CODED_ALL_REDUCE_H_
// Communicator::AllReduce of f32 whose messages are written as a wire codec says.
#include <string>

#include "comm/communicator.h"
#include "quant/wire_codec.h"
#include "runtime/tensor.h"

namespace tessera {

// The sum over the ranks of tensors [n], in the order of the ranks: each rank adds up a block of
// it, and sends the sum to all; both ways by the codec, in rows of kRowOfCodec numbers. All ranks
// get the same bits. Under fp32 it is AllReduce. Waiting starts the second way: every rank waits
// for its calls in the same order.
inline constexpr int64_t kRowOfCodec = 256;
Awaitable<Tensor> CodedAllReduce(Context& ctx, Communicator& comm, const WireCodec& codec,
                                 const Tensor& tensor, const std::string& what);

}  // namespace tessera
#endif  // TESSERA_SHARDING_CODED_ALL_REDUCE_H_
