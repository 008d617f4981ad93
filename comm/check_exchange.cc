#include "comm/check_exchange.h"

namespace tessera::internal {

void CheckExchange(const Communicator& comm, Context& ctx, const std::vector<Tensor>& send,
                   const std::vector<int64_t>& receive_counts, const Call& call) {
  const auto ranks = static_cast<size_t>(comm.size());
  TESSERA_CHECK_EQ(send.size(), ranks, "{}: one tensor a rank", call);
  TESSERA_CHECK_EQ(receive_counts.size(), ranks, "{}: one count a rank", call);
  for (size_t r = 0; r < ranks; ++r) {
    TESSERA_CHECK(send[r].defined(), "{}: what goes to rank {} is undefined", call, r);
    CheckDevice(ctx, call.op.c_str(), send[r]);
    TESSERA_CHECK(send[r].rank() == 1 && send[r].is_contiguous(),
                  "{}: expected a contiguous one-dimensional tensor for rank {}, got {}", call, r,
                  send[r].shape());
    TESSERA_CHECK_EQ(send[r].dtype(), send[0].dtype(), "{}: to rank {}", call, r);
    TESSERA_CHECK_GE(receive_counts[r], 0, "{}: elements from rank {}", call, r);
  }
  const auto own = static_cast<size_t>(comm.rank());
  TESSERA_CHECK_EQ(receive_counts[own], send[own].numel(), "{}: from rank {} to itself", call, own);
}

}  // namespace tessera::internal
