#ifndef TESSERA_BENCH_COMM_RANK_THREADS_H_
#define TESSERA_BENCH_COMM_RANK_THREADS_H_
// Ranks of one process on threads that stay, so that work of theirs can be timed again and again
// without the making of threads.
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "comm/communicator.h"
#include "runtime/context.h"

namespace tessera::bench {

class RankThreads {
 public:
  using Fn = std::function<void(Communicator& comm, Context& ctx)>;

  explicit RankThreads(int ranks);
  ~RankThreads();

  // Runs fn on every rank, with a context of its own, and returns once all have ended. If one
  // throws, the group is aborted and the first failure is thrown here; no further call is allowed.
  void Run(const Fn& fn);

 private:
  void Work(size_t rank);
  void RunOne(size_t rank, const Fn& fn);

  std::vector<std::unique_ptr<Communicator>> comms_;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  const Fn* fn_ = nullptr;
  int64_t calls_ = 0;   // so far
  size_t running_ = 0;  // ranks that have not ended the call at hand
  bool stop_ = false;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_COMM_RANK_THREADS_H_
