// A program of three ranks in which something goes wrong; mpi_faults_test.sh reads what it says.
//   mpi_faults throw|kill|op|count|leave|abort|split|timeout|stop|apart|busy|stop_early|end_early|
//       end_first|late|kill_early [--comm-thread=off]
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "comm/mpi/mpi_communicator.h"

namespace tessera {
namespace {

Tensor Ones(Context& ctx, int64_t n) { return Tensor::Full(ctx, {n}, 1); }

void Sum(Communicator& comm, Context& ctx, const char* what) {
  comm.AllReduce(ctx, Ones(ctx, 10000), ReduceOp::kSum, what).Wait();
}

// Rank 1 makes a mistake; the others see it in the sum of t7.
void Fail(Communicator& comm, Context& ctx, const std::string& fault) {
  const bool mine = comm.rank() == 1;
  if (mine && fault == "throw") throw Error("row 12 of t7 is out of range");
  if (mine && fault == "kill") std::raise(SIGKILL);
  if (mine && (fault == "stop" || fault == "apart")) std::raise(SIGSTOP);
  if (mine && fault == "busy") std::this_thread::sleep_for(std::chrono::seconds(3));
  if (mine && fault == "leave") return;
  if (mine && fault == "abort") comm.Abort("the disk is full");
  if (mine && fault == "op") comm.AllGather(ctx, Ones(ctx, 10000), "rows of t7").Wait();
  if (mine && fault == "timeout") comm.Receive(ctx, {1}, DType::kF32, 0, "never sent").Wait();
  if (fault == "count") {
    const std::vector<Tensor> send(3, Ones(ctx, 9000));
    std::vector<int64_t> counts(3, 9000);
    if (mine) counts[2] = 20000;
    comm.AllToAllV(ctx, send, counts, "ids of t7").Wait();
  }
  if (fault == "split") {
    const auto pair = comm.Split(comm.rank() == 2, 0);
    if (comm.rank() == 2) throw Error("no memory");
    pair->Barrier(ctx, "the pair").Wait();
    pair->Receive(ctx, {1}, DType::kF32, 1 - pair->rank(), "never sent").Wait();
  }
  Sum(comm, ctx, "sum of t7");
}

// Before MPI starts: the others wait in its start.
void FailEarly(const std::string& fault) {
  const auto sleep = [](int s) { std::this_thread::sleep_for(std::chrono::seconds(s)); };
  if (fault == "end_first" && MpiRank() != 1) sleep(1);
  if (MpiRank() != 1) return;
  if (fault == "end_first") std::_Exit(0);  // before any rank has started MPI
  if (fault == "late") sleep(5);
  if (fault == "stop_early") std::raise(SIGSTOP);
  if (fault != "end_early" && fault != "kill_early") return;
  sleep(1);
  fault == "end_early" ? std::_Exit(0) : void(std::raise(SIGKILL));
}

int Main(int argc, char** argv) {
  TESSERA_CHECK_GE(argc, 2, "arguments");
  const std::string fault = argv[1];
  FailEarly(fault);
  MpiOptions options;
  options.comm_thread = argc == 2;
  if (fault == "timeout") options.timeout_s = 1;
  options.rank_timeout_s = 2;
  options.hosts_apart = fault == "apart";
  return RunMpiRank(options, [&](Communicator& comm) {
    Context ctx({.threads = 1});
    Sum(comm, ctx, "before");
    Fail(comm, ctx, fault);
    std::printf("rank %d ended well\n", comm.rank());
    return 0;
  });
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) { return tessera::Main(argc, argv); }
