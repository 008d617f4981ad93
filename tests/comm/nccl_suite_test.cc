// The suite of every backend, over NCCL's interface: a fake one on an emulated GPU, of ranks that
// are threads.
#include <gtest/gtest.h>

#include <cstdlib>
#include <tuple>

#include "comm/local_communicator.h"
#include "comm/nccl/nccl_communicator.h"
#include "tests/comm/fake_nccl_ranks.h"
#include "tests/comm/suite.h"

namespace tessera::testing {
namespace {

using Param = std::tuple<CommCase, int, bool>;

class NcclSuiteTest : public ::testing::TestWithParam<Param> {};

TEST_P(NcclSuiteTest, Runs) {
  const auto& [c, ranks, check_calls] = GetParam();
  RunNcclRanks(ranks, {.check_calls = check_calls}, [&](Communicator& comm, Context& ctx) {
    EXPECT_EQ(comm.backend(), "nccl");
    c.run(comm, ctx);
  });
}

std::string NameOf(const ::testing::TestParamInfo<Param>& info) {
  const auto& [c, ranks, check_calls] = info.param;
  return std::string(c.name) + "_" + std::to_string(ranks) + (check_calls ? "_Checked" : "");
}

INSTANTIATE_TEST_SUITE_P(, NcclSuiteTest,
                         ::testing::Combine(::testing::ValuesIn(CommCases()),
                                            ::testing::Values(1, 2, 3, 4, 8), ::testing::Bool()),
                         NameOf);

}  // namespace
}  // namespace tessera::testing
