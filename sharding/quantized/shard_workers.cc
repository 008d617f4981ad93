#include "sharding/quantized/shard_workers.h"

#include <exception>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/start_threads.h"

namespace tessera {

// One Run: how many tasks have not ended, and how the others did.
struct ShardWorkers::Call {
  std::mutex mutex;
  std::condition_variable done;
  size_t left = 0;
  std::vector<std::exception_ptr> errors;  // of each rank

  void End(size_t rank, std::exception_ptr error) {
    const std::lock_guard lock(mutex);
    errors[rank] = std::move(error);
    if (--left == 0) done.notify_one();
  }
  void Wait() {
    std::unique_lock lock(mutex);
    done.wait(lock, [&] { return left == 0; });
    const std::vector<std::exception_ptr> mine = std::move(errors);  // they go on this thread
    lock.unlock();
    for (const std::exception_ptr& error : mine)
      if (error) std::rethrow_exception(error);
  }
};

ShardWorkers::ShardWorkers(std::span<const Device> devices, int threads) {
  for (const Device& device : devices)
    workers_.push_back(
        std::make_unique<Worker>(ContextOptions{.device = device, .threads = threads}));
  StartThreads(threads_, static_cast<int>(workers_.size()), "rank's thread",
               [this](int r) { Work(*workers_[static_cast<size_t>(r)]); });
}

void ShardWorkers::Close() {
  for (const auto& worker : workers_) {
    {
      const std::lock_guard lock(worker->mutex);
      worker->closed = true;
    }
    worker->changed.notify_one();
  }
}

ShardWorkers::~ShardWorkers() {
  Close();
  for (std::thread& thread : threads_) thread.join();
}

void ShardWorkers::Work(Worker& worker) {
  while (true) {
    std::unique_lock lock(worker.mutex);
    worker.changed.wait(lock, [&] { return worker.closed || !worker.orders.empty(); });
    if (worker.orders.empty()) return;
    const Order order = std::move(worker.orders.front());
    worker.orders.pop_front();
    lock.unlock();
    std::exception_ptr error;
    try {
      (*order.task)(worker.context);
    } catch (...) {
      error = std::current_exception();
    }
    order.call->End(order.rank, std::move(error));
  }
}

void ShardWorkers::Run(std::span<const RankTask> tasks) {
  TESSERA_CHECK_EQ(tasks.size(), workers_.size(), "tasks, one a rank");
  const auto call = std::make_shared<Call>();
  call->errors.resize(tasks.size());
  for (const RankTask& task : tasks) call->left += task ? 1 : 0;
  for (size_t r = 0; r < tasks.size(); ++r) {
    if (!tasks[r]) continue;
    Worker& worker = *workers_[r];
    {
      const std::lock_guard lock(worker.mutex);
      worker.orders.push_back({&tasks[r], call, r});
    }
    worker.changed.notify_one();
  }
  call->Wait();
}

}  // namespace tessera
