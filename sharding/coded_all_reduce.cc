#include "sharding/coded_all_reduce.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "comm/blocks.h"
#include "sharding/exchange/float_exchange.h"

namespace tessera {
namespace {

// The rows of each rank's block of n numbers, and what is left over, a shorter row.
std::vector<MessageShapes> BlocksOf(int64_t n, int64_t ranks) {
  const int64_t rows = n / kRowOfCodec;
  std::vector<MessageShapes> blocks;
  for (int64_t r = 0; r < ranks; ++r)
    blocks.push_back({{rows * (r + 1) / ranks - rows * r / ranks, kRowOfCodec}});
  if (n % kRowOfCodec != 0) blocks.back().push_back({1, n % kRowOfCodec});
  return blocks;
}

}  // namespace

Awaitable<Tensor> CodedAllReduce(Context& ctx, Communicator& comm, const WireCodec& codec,
                                 const Tensor& tensor, const std::string& what) {
  if (codec.type == WireType::kFp32) return comm.AllReduce(ctx, tensor, ReduceOp::kSum, what);
  const auto ranks = static_cast<size_t>(comm.size());
  const std::vector<MessageShapes> blocks = BlocksOf(tensor.numel(), comm.size());
  const std::vector<MessageShapes> mine(ranks, blocks[static_cast<size_t>(comm.rank())]);
  auto parts = ExchangeFloats(ctx, comm, codec, internal::CutFlat(tensor, SizesOf(blocks)), blocks,
                              mine, what);
  return std::move(parts).Then([&ctx, &comm, codec, blocks, mine, what, ranks,
                                shape = tensor.shape()](const std::vector<Tensor>& received) {
    const Tensor sum = ReduceInOrder(ctx, received, ReduceOp::kSum);
    const std::vector<Tensor> sums =
        ExchangeFloats(ctx, comm, codec, std::vector<Tensor>(ranks, sum), mine, blocks, what)
            .Wait();
    return internal::Join(ctx, sums, shape);
  });
}

}  // namespace tessera
