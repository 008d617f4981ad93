// The suite over the machine's own NCCL, with one rank: as many as a machine with one GPU can have.
#include <gtest/gtest.h>

#include "comm/local_communicator.h"
#include "comm/nccl/nccl_communicator.h"
#include "runtime/device/device_properties.h"
#include "tests/comm/suite.h"

namespace tessera::testing {
namespace {

class NcclRealTest : public ::testing::TestWithParam<CommCase> {};

TEST_P(NcclRealTest, OneRank) {
  if (CudaDeviceCount() == 0)
    GTEST_SKIP() << "SKIPPED: this machine has no GPU; nccl_suite_test runs over a fake NCCL";
  RunLocalRanks(1, [](Communicator& host) {
    Context ctx({.device = Device::Cuda(), .threads = 1});
    const std::shared_ptr<Communicator> shared(&host, [](Communicator*) {});
    std::unique_ptr<Communicator> comm;
    try {
      comm = MakeNcclCommunicator(ctx, shared);
    } catch (const Error& error) {
      if (std::string(error.what()).find("NCCL was not found") == std::string::npos) throw;
      GTEST_SKIP() << "SKIPPED: " << error.what();
    }
    GetParam().run(*comm, ctx);
  });
}

INSTANTIATE_TEST_SUITE_P(, NcclRealTest, ::testing::ValuesIn(CommCases()), CommCaseName);

}  // namespace
}  // namespace tessera::testing
