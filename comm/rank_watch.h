#ifndef TESSERA_COMM_RANK_WATCH_H_
#define TESSERA_COMM_RANK_WATCH_H_
// A thread that watches the processes of this host's other ranks, through the kernel: one that has
// ended is noticed at once, one that is stopped (SIGSTOP) after a time-out. A process that
// computes, loads or waits long is neither, and one that a debugger holds is not stopped.
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "comm/rank_process.h"
#include "comm/stopped_processes.h"

namespace tessera::internal {

class RankWatch {
 public:
  // on_loss(2, "rank 2 (process 4711 on node7) …") is called by the watching thread for each that
  // is lost when the first one is. Some seconds later that thread ends this process, should it
  // still be there.
  RankWatch(const std::map<int, RankProcess>& others, double timeout_s,
            std::function<void(int, const std::string&)> on_loss);
  // The others may end from here on.
  ~RankWatch();
  RankWatch(const RankWatch&) = delete;
  RankWatch& operator=(const RankWatch&) = delete;

 private:
  struct Watched {
    int rank;
    RankProcess process;
    int fd;  // readable once it has ended; -1: has ended
  };

  void Watch();
  // Sleeps until something happens, or the next look is due; false: this is being destroyed.
  bool Sleep(std::chrono::milliseconds time);
  // The ranks that are lost now, and what is wrong with each.
  std::map<int, std::string> Look();
  std::string LookAt(const Watched& watched);
  void Lose(const std::map<int, std::string>& lost);

  const std::chrono::milliseconds interval_;
  StoppedProcesses stopped_;
  const std::function<void(int, const std::string&)> on_loss_;
  std::vector<Watched> watched_;
  int wake_;  // an eventfd
  std::thread thread_;
};

}  // namespace tessera::internal
#endif  // TESSERA_COMM_RANK_WATCH_H_
