#ifndef TESSERA_SHARDING_QUANTIZED_SHARD_WORKERS_H_
#define TESSERA_SHARDING_QUANTIZED_SHARD_WORKERS_H_
// A thread a rank, each with a context on the rank's device. Several callers may Run at a time: a
// rank does what it is given in the order it came. A lock is held only while work is handed over.
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "runtime/context.h"

namespace tessera {

// Work of a rank with its context; empty: none.
using RankTask = std::function<void(Context&)>;

class ShardWorkers {
 public:
  // devices: one a rank. threads: of each rank's context.
  ShardWorkers(std::span<const Device> devices, int threads);
  ~ShardWorkers();
  ShardWorkers(const ShardWorkers&) = delete;
  ShardWorkers& operator=(const ShardWorkers&) = delete;

  // Runs tasks[r] on rank r's thread, all at the same time, and returns when all have ended. The
  // exception of the lowest rank that threw is rethrown. REQUIRES: as many tasks as ranks.
  void Run(std::span<const RankTask> tasks);

 private:
  struct Call;
  struct Order {
    const RankTask* task;
    std::shared_ptr<Call> call;
    size_t rank;
  };
  struct Worker {
    explicit Worker(const ContextOptions& options) : context(options) {}
    Context context;
    std::mutex mutex;  // of the next three
    std::condition_variable changed;
    std::deque<Order> orders;
    bool closed = false;
  };
  static void Work(Worker& worker);
  void Close();

  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::thread> threads_;  // one a worker
};

}  // namespace tessera
#endif  // TESSERA_SHARDING_QUANTIZED_SHARD_WORKERS_H_
