#ifndef TESSERA_TESTS_TESTING_FAKE_NCCL_H_
#define TESSERA_TESTS_TESTING_FAKE_NCCL_H_
// Interface for tests to libfake_nccl.so, which stands in for NCCL under --config=emulated: ranks
// are threads of one process, on the one emulated GPU. A test finds these functions in it.
//
// As NCCL: exchanges run on the streams they were given, behind what these were given before;
// buffers are used until the last rank is done. Other than NCCL: the end of a group waits on the
// host until the other ranks have come so far; sums are in the order of the ranks; sends and
// receives of unequal sizes, and collectives that differ, are reported (as an asynchronous error,
// to whoever sees it) instead of undefined.

namespace tessera::testing {

enum FakeNcclFault {
  kFakeNcclNoFault = 0,
  kFakeNcclHang = 1,        // the group never starts, and its end returns only after an abort
  kFakeNcclError = 2,       // its end fails with ncclSystemError, and nothing was started
  kFakeNcclAsyncError = 3,  // as kFakeNcclHang, and ncclRemoteError is reported
  kFakeNcclNoInit = 4,      // the rank's ncclCommInitRank never returns, nor do the others'
};

// Gives this fault, once, to the group after the next `after` ones of rank `rank`, in any
// communicator.
using FakeNcclInject = void (*)(int fault, int rank, int after);
inline constexpr const char* kFakeNcclInject = "fakeNcclInject";
// Calls hook(), once, at the next start of a group.
using FakeNcclAtGroupStart = void (*)(void (*hook)());
inline constexpr const char* kFakeNcclAtGroupStart = "fakeNcclAtGroupStart";
// How often a communicator was used after it had been aborted, which NCCL leaves undefined.
using FakeNcclUsesAfterAbort = int (*)();
inline constexpr const char* kFakeNcclUsesAfterAbort = "fakeNcclUsesAfterAbort";
inline constexpr const char* kFakeNcclPath = "tests/testing/libfake_nccl.so";

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_TESTING_FAKE_NCCL_H_
