// Ranks that are threads, each on an emulated GPU of its own.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <tuple>
#include <vector>

#include "comm/local_communicator.h"
#include "comm/nccl/nccl_communicator.h"
#include "runtime/tensor.h"
#include "tests/comm/fake_nccl_ranks.h"
#include "tests/comm/suite.h"
#include "tools/emulation/emulation.h"

namespace tessera::testing {
namespace {

using Param = std::tuple<CommCase, bool>;

class TwoDevicesTest : public ::testing::TestWithParam<Param> {};

TEST_P(TwoDevicesTest, Runs) {
  const auto& [c, with_nccl] = GetParam();
  cuda_emulation::SetDeviceCount(2);
  UseFakeNccl();
  RunLocalRanks(2, [&, &c = c, &with_nccl = with_nccl](Communicator& host) {
    Context ctx({.device = Device::Cuda(host.rank()), .threads = 1});
    const std::shared_ptr<Communicator> shared(&host, [](Communicator*) {});
    std::unique_ptr<Communicator> nccl;
    if (with_nccl) nccl = MakeNcclCommunicator(ctx, shared);
    c.run(nccl ? *nccl : host, ctx);
  });
}

std::string NameOf(const ::testing::TestParamInfo<Param>& info) {
  return std::string(std::get<0>(info.param).name) + (std::get<1>(info.param) ? "_Nccl" : "_Local");
}

INSTANTIATE_TEST_SUITE_P(, TwoDevicesTest,
                         ::testing::Combine(::testing::ValuesIn(CommCases()), ::testing::Bool()),
                         NameOf);

// The sender lets go of what it sent, and takes memory of that size again, before the receiver's
// copy has run.
TEST(LocalCommunicator, WhatAnotherDeviceCopiesStaysUntilThen) {
  cuda_emulation::SetDeviceCount(2);
  RunLocalRanks(2, [](Communicator& comm) {
    Context ctx({.device = Device::Cuda(comm.rank()), .threads = 1});
    Tensor received;
    if (comm.rank() == 0)
      comm.Send(ctx, Tensor::Full(ctx, {1000}, 7), 1, "sevens").Wait();
    else
      received = comm.Receive(ctx, {1000}, DType::kF32, 0, "sevens").Wait();
    (void)comm.GatherStringsSync("", "the copy is on its stream");
    if (comm.rank() == 0) {
      (void)Tensor::Full(ctx, {1000}, 8);
      ctx.Sync();
    }
    (void)comm.GatherStringsSync("", "the memory was taken again");
    if (comm.rank() == 1) {
      EXPECT_EQ(received.ToVector<float>(), std::vector<float>(1000, 7));
    }
  });
}

}  // namespace
}  // namespace tessera::testing
