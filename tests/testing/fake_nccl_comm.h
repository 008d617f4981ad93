#ifndef TESSERA_TESTS_TESTING_FAKE_NCCL_COMM_H_
#define TESSERA_TESTS_TESTING_FAKE_NCCL_COMM_H_
// Ranks, and what they put before one another. A post says what a rank gives and takes, from which
// place of its stream on its buffers may be used, and, set by the one who reads them, from which on
// they are free.
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "tools/emulation/cuda_runtime.h"

namespace fake_nccl {

enum Status {
  kSuccess = 0,
  kSystemError = 2,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6
};
enum class Kind { kSend, kRecv, kAllReduce, kReduceScatter, kAllGather, kBroadcast };

// ---- places in streams

using Place = std::shared_ptr<std::remove_pointer_t<cudaEvent_t>>;

inline Place Mark(cudaStream_t stream) {
  cudaEvent_t event = nullptr;
  (void)cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  (void)cudaEventRecord(event, stream);
  return Place(event, [](cudaEvent_t e) { (void)cudaEventDestroy(e); });
}
inline void Follow(cudaStream_t stream, const Place& place) {
  (void)cudaStreamWaitEvent(stream, place.get(), 0);
}

// ---- communicators

struct Op {
  Kind kind;
  const void* from;
  void* to;
  size_t count;
  int type;
  int other;  // the peer, the root or the reduction
  struct Comm* comm;
  cudaStream_t stream;
};

// A call that a rank has put before the others.
struct Post {
  Op op;
  Place ready;  // its buffers may be used
  Place done;   // the one who reads them has
};
using PostPtr = std::shared_ptr<Post>;

struct Clique;

struct Splitting {
  std::map<int, std::pair<int, int>> wishes;  // of a rank: color and key
  std::map<int, std::shared_ptr<Clique>> parts;
};

// The ranks of a communicator.
struct Clique {
  std::mutex mutex;
  std::condition_variable changed;
  int size = 0, joined = 0;
  std::map<int64_t, std::vector<PostPtr>> rounds;  // of collectives
  std::map<std::pair<int, int>, std::deque<PostPtr>> messages;
  std::map<int64_t, Splitting> splittings;
};

struct Comm {
  std::shared_ptr<Clique> clique;
  int rank = 0;
  int64_t next_round = 0, next_split = 0;
  bool aborted = false;  // this and the next: by the clique's mutex
  int async_error = kSuccess;

  // False if this rank was aborted first.
  bool WaitUntil(std::unique_lock<std::mutex>& lock, const std::function<bool()>& holds) {
    clique->changed.wait(lock, [&] { return aborted || holds(); });
    return !aborted;
  }
};

// Kept: threads may still be inside an aborted one.
inline Comm* NewComm(std::shared_ptr<Clique> clique, int rank) {
  static std::mutex mutex;
  static auto& all = *new std::vector<std::unique_ptr<Comm>>;
  const std::lock_guard lock(mutex);
  all.push_back(std::make_unique<Comm>());
  all.back()->clique = std::move(clique);
  all.back()->rank = rank;
  return all.back().get();
}

}  // namespace fake_nccl
#endif  // TESSERA_TESTS_TESTING_FAKE_NCCL_COMM_H_
