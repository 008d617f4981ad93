// A message of more than 2^31 bytes, in pieces of up to 2^30. Takes 5 GB of memory.
#include <gtest/gtest.h>

#include "tests/comm/mpi_main.h"

namespace tessera::testing {
namespace {

TEST(MpiLarge, MoreThanTwoToThe31Bytes) {
  Context ctx({.threads = 1});
  Communicator& comm = MpiWorld();
  const int64_t n = (int64_t{1} << 31) + 4097;
  if (comm.rank() == 0) {
    const Tensor sent = Tensor::Full(ctx, {n}, 7, DType::kU8);
    sent.data<uint8_t>()[n - 1] = 9;
    comm.Send(ctx, sent, 1, "large").Wait();
  } else if (comm.rank() == 1) {
    const Tensor received = comm.Receive(ctx, {n}, DType::kU8, 0, "large").Wait();
    const uint8_t* bytes = received.data<uint8_t>();
    for (const int64_t i : {int64_t{0}, (int64_t{1} << 30) - 1, int64_t{1} << 30, n - 2})
      EXPECT_EQ(bytes[i], 7) << i;
    EXPECT_EQ(bytes[n - 1], 9);
  }
  EXPECT_EQ(comm.bytes_sent(), comm.rank() == 0 ? n : 0);
}

}  // namespace
}  // namespace tessera::testing
