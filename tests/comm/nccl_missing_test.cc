// A machine without NCCL. The test is a program of its own, since the library is looked for once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "comm/local_communicator.h"
#include "comm/nccl/nccl_communicator.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

void ExpectFailure(const ::testing::Matcher<const char*>& text) {
  RunLocalRanks(2, [&](Communicator& comm) {
    Context ctx({.device = Device::Cuda(), .threads = 1});
    const std::shared_ptr<Communicator> host(&comm, [](Communicator*) {});
    try {
      MakeNcclCommunicator(ctx, host);
      ADD_FAILURE() << "expected Error";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), text);
    }
  });
}

TEST(NcclMissingTest, EveryRankIsToldHowToGetIt) {
  unsetenv("TESSERA_NCCL_LIBRARY");
  ExpectFailure(AllOf(HasSubstr("rank 0: NCCL was not found"),
                      HasSubstr("apt-get install libnccl2"), HasSubstr("TESSERA_NCCL_LIBRARY")));
  EXPECT_THAT(WhyNoNccl(), HasSubstr("NCCL was not found. Install it"));
}

TEST(NcclMissingTest, AWrongPathIsNamed) {
  setenv("TESSERA_NCCL_LIBRARY", "/nowhere/libnccl.so.2", 1);
  ExpectFailure(HasSubstr("/nowhere/libnccl.so.2: cannot open shared object file"));
}

TEST(NcclMissingTest, ALibraryThatIsAnother) {
  setenv("TESSERA_NCCL_LIBRARY", "libm.so.6", 1);
  ExpectFailure(HasSubstr("libm.so.6 has no function ncclGetVersion; expected NCCL 2.18"));
}

}  // namespace
}  // namespace tessera
