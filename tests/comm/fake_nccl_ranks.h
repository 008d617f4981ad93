#ifndef TESSERA_TESTS_COMM_FAKE_NCCL_RANKS_H_
#define TESSERA_TESTS_COMM_FAKE_NCCL_RANKS_H_
// Threads whose communicators run over the fake NCCL (tests/testing/fake_nccl.h).
#include <dlfcn.h>

#include <cstdlib>
#include <functional>

#include "comm/local_communicator.h"
#include "comm/nccl/nccl_communicator.h"
#include "tests/testing/fake_nccl.h"

namespace tessera::testing {

inline void UseFakeNccl() { setenv("TESSERA_NCCL_LIBRARY", kFakeNcclPath, 1); }

template <typename Fn>
Fn FakeNcclFunction(const char* name) {
  void* library = dlopen(kFakeNcclPath, RTLD_NOW);
  TESSERA_CHECK(library != nullptr, "no fake NCCL: {}", dlerror());
  return reinterpret_cast<Fn>(dlsym(library, name));
}

// Gives rank `rank` a fault in the group after the next `after` ones.
inline void InjectNcclFault(FakeNcclFault fault, int rank, int after = 0) {
  FakeNcclFunction<FakeNcclInject>(kFakeNcclInject)(fault, rank, after);
}

// Runs fn(NCCL communicator, context) on `ranks` threads; what RunLocalRanks says of failures
// holds.
inline void RunNcclRanks(int ranks, const NcclOptions& options,
                         const std::function<void(Communicator&, Context&)>& fn,
                         Device device = Device::Cuda()) {
  UseFakeNccl();
  RunLocalRanks(ranks, [&](Communicator& host) {
    Context ctx({.device = device, .threads = 1});
    const std::shared_ptr<Communicator> shared(&host, [](Communicator*) {});
    const auto comm = MakeNcclCommunicator(ctx, shared, options);
    fn(*comm, ctx);
  });
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_COMM_FAKE_NCCL_RANKS_H_
