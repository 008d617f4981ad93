#include "bench/comm/collectives.h"

#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

double OthersShare(double ranks) { return (ranks - 1) / ranks; }

Tensor MyBlock(const Communicator& comm, const Tensor& data) {
  return data.Narrow(0, 0, data.numel() / comm.size());
}
Tensor Blocks(const Communicator& comm, const Tensor& data) {
  return data.Reshape({comm.size(), data.numel() / comm.size()});
}

Tensor AllToAll(Communicator& comm, Context& ctx, const Tensor& data) {
  const Tensor blocks = Blocks(comm, data);
  std::vector<Tensor> send;
  for (int r = 0; r < comm.size(); ++r)
    send.push_back(blocks.Rows(r, r + 1).Reshape({blocks.dim(1)}));
  const std::vector<int64_t> counts(send.size(), blocks.dim(1));
  return comm.AllToAllV(ctx, std::move(send), counts, "bench").Wait().back();
}

}  // namespace

const std::vector<Collective>& Collectives() {
  static const std::vector<Collective> all = {
      {"all_to_all", OthersShare, AllToAll},
      {"all_gather", OthersShare,
       [](Communicator& comm, Context& ctx, const Tensor& data) {
         return comm.AllGather(ctx, MyBlock(comm, data), "bench").Wait();
       }},
      {"reduce_scatter", OthersShare,
       [](Communicator& comm, Context& ctx, const Tensor& data) {
         return comm.ReduceScatter(ctx, Blocks(comm, data), "bench").Wait();
       }},
      {"all_reduce", [](double ranks) { return 2 * OthersShare(ranks); },
       [](Communicator& comm, Context& ctx, const Tensor& data) {
         return comm.AllReduce(ctx, data, ReduceOp::kSum, "bench").Wait();
       }},
      {"broadcast", [](double ranks) { return ranks > 1 ? 1.0 : 0.0; },
       [](Communicator& comm, Context& ctx, const Tensor& data) {
         return comm.Broadcast(ctx, data, 0, "bench").Wait();
       }},
  };
  return all;
}

Tensor MakeMessage(const Communicator& comm, Context& ctx, int64_t bytes) {
  const int64_t step = 4 * comm.size();
  return Tensor::Full(ctx, {(bytes + step - 1) / step * comm.size()}, 1);
}

void CheckResult(const Communicator& comm, const Collective& c, const Tensor& result) {
  const bool summed = c.name == "reduce_scatter" || c.name == "all_reduce";
  const float expected = summed ? static_cast<float>(comm.size()) : 1.0f;
  for (const float value : result.ToVector<float>())
    TESSERA_CHECK_EQ(value, expected, "result of {}", c.name);
}

}  // namespace tessera::bench
