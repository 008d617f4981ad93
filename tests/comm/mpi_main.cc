#include "tests/comm/mpi_main.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "comm/mpi/mpi_communicator.h"

namespace tessera::testing {
namespace {

Communicator* world = nullptr;

MpiOptions OptionsOf(int argc, char** argv) {
  MpiOptions options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto value = [&] { return argument.substr(argument.find('=') + 1); };
    if (argument == "--comm-thread=off")
      options.comm_thread = false;
    else if (argument.starts_with("--chunk-bytes="))
      options.chunk_bytes = std::stoll(value());
    else if (argument.starts_with("--timeout="))
      options.timeout_s = std::stod(value());
    else
      TESSERA_FAIL("unknown argument {}", argument);
  }
  return options;
}

// If a test fails on one rank, no rank waits for the others.
class FailTogether : public ::testing::EmptyTestEventListener {
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (result.failed() && !IsLeader(*world))
      std::fprintf(stderr, "rank %d: %s:%d: %s\n", world->rank(), result.file_name(),
                   result.line_number(), result.message());
  }
  void OnTestEnd(const ::testing::TestInfo& info) override {
    if (info.result()->Failed()) world->Abort(std::string("failed: ") + info.name());
  }
};

}  // namespace

Communicator& MpiWorld() { return *world; }

static int RunTests(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  return RunMpiRank(OptionsOf(argc, argv), [](Communicator& comm) {
    world = &comm;
    auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
    if (!IsLeader(comm)) delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailTogether);
    return RUN_ALL_TESTS();
  });
}

}  // namespace tessera::testing

int main(int argc, char** argv) { return tessera::testing::RunTests(argc, argv); }
