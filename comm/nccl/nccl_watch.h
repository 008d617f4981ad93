#ifndef TESSERA_COMM_NCCL_NCCL_WATCH_H_
#define TESSERA_COMM_NCCL_NCCL_WATCH_H_
// NCCL's communicator of one rank, and a thread that watches the calls which are on their way. NCCL
// itself reports nothing to a caller whose calls are queued: without the thread, a rank that is
// gone would be waited for without end.
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "comm/call.h"
#include "comm/communicator.h"
#include "comm/nccl/nccl_functions.h"
#include "runtime/device/stream.h"

namespace tessera::internal {

class NcclWatch;

// The communicators of this process that were split from one another, of all its ranks: they fail
// together. Thread safe.
class NcclFamily {
 public:
  // Returns one family to all ranks of this process that came by the same id.
  static std::shared_ptr<NcclFamily> Of(const NcclUniqueId& id);
  // The first reason counts.
  void Abort(const std::string& reason) noexcept;
  std::string reason() const;  // empty while nobody aborted

 private:
  friend class NcclWatch;
  void Join(NcclWatch* watch);
  void Leave(NcclWatch* watch);

  mutable std::mutex mutex_;
  std::string reason_;
  std::vector<NcclWatch*> members_;
};

struct NcclWatchOptions {
  Device device;
  double timeout_seconds = 0;
  // Why the host's group was ended, or empty.
  std::function<std::string()> host_failure;
  // Called by the thread when a call failed.
  std::function<void(const std::string& reason)> fail;
};

class NcclWatch {
 public:
  // Owns `comm` from now on.
  NcclWatch(std::shared_ptr<NcclFamily> family, NcclComm comm, NcclWatchOptions options);
  ~NcclWatch();
  NcclWatch(const NcclWatch&) = delete;
  NcclWatch& operator=(const NcclWatch&) = delete;

  NcclComm comm() const { return comm_; }
  // Returns the status of fn(comm), during which AbortComm waits, so that no communicator is used
  // that was just ended. Throws CommunicatorAborted if it was. REQUIRES: fn waits for nobody, and
  // does not look at the watch.
  template <typename Fn>
  int WithComm(const Call& call, const Fn& fn) {
    {
      const std::lock_guard lock(comm_mutex_);
      if (!aborted_) return fn(comm_);
    }
    throw CommunicatorAborted(Format("{}: {}", call, family_->reason()));
  }
  const std::shared_ptr<NcclFamily>& family() const { return family_; }

  // Around a call of NCCL. Begin throws CommunicatorAborted if the family was aborted. Its time
  // counts while the host is in it, and again once `begun` is past until `done` is.
  int64_t Begin(const Call& call);
  void Queued(int64_t id, Event begun, Event done);
  void Finished(int64_t id);  // it left nothing on the stream
  // Throws CommunicatorAborted that names `call` if the family was aborted.
  void CheckAlive(const Call& call) const;
  // Ends what NCCL has on its way; the communicator is of no use from then on.
  void AbortComm() noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  struct Flight {
    int64_t id;
    Call call;
    bool in_host;
    Event begun, done;
    bool running;  // `since` counts
    Clock::time_point since;
  };
  void Run();
  // Returns what failed, or an empty string; forgets the calls that are done.
  std::string Look();
  std::string AsyncError();

  const NcclFunctions& nccl_ = Nccl();
  std::shared_ptr<NcclFamily> family_;
  NcclWatchOptions options_;
  NcclComm comm_;
  std::mutex comm_mutex_;  // of `aborted_`
  bool aborted_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Flight> flights_;
  int64_t next_id_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace tessera::internal
#endif  // TESSERA_COMM_NCCL_NCCL_WATCH_H_
