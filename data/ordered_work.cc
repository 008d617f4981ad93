#include "data/ordered_work.h"

#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/start_threads.h"

namespace tessera {
namespace {

// Returns what fn throws, or null.
template <typename Fn>
std::exception_ptr ErrorOf(Fn&& fn) {
  try {
    fn();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

}  // namespace

OrderedWork::OrderedWork(int threads, size_t slots, Steps steps)
    : steps_(std::move(steps)), slots_(slots) {
  TESSERA_CHECK_GT(threads, 0, "threads");
  TESSERA_CHECK_GT(slots, size_t{0}, "slots");
  StartThreads(threads_, threads - 1, "thread that reads rows", [this](int) { Run(); });
}

OrderedWork::~OrderedWork() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void OrderedWork::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || CanRead(); });
    if (stop_) return;
    TakeOne(lock);
  }
}

bool OrderedWork::ReadOne(std::unique_lock<std::mutex>& lock, Slot& slot, size_t at) {
  reading_ = true;
  lock.unlock();
  bool more = false;
  std::exception_ptr error = ErrorOf([&] { more = steps_.read(at); });
  lock.lock();
  reading_ = false;
  ended_ = !more;
  slot = {error != nullptr, std::move(error)};
  if (more || slot.ready) ++read_;
  changed_.notify_all();
  return more;
}

void OrderedWork::TakeOne(std::unique_lock<std::mutex>& lock) {
  const auto at = static_cast<size_t>(read_) % slots_.size();
  Slot& slot = slots_[at];
  if (!ReadOne(lock, slot, at)) return;
  lock.unlock();
  std::exception_ptr error = ErrorOf([&] { steps_.work(at); });
  lock.lock();
  slot = {true, std::move(error)};
  changed_.notify_all();
}

std::optional<size_t> OrderedWork::Next() {
  std::unique_lock lock(mutex_);
  if (std::exchange(holds_, false)) {
    ++given_;
    changed_.notify_all();
  }
  for (;;) {
    const Slot& next = SlotOf(given_);
    if (given_ < read_ && next.ready) {
      if (next.error) std::rethrow_exception(next.error);
      holds_ = true;
      return static_cast<size_t>(given_) % slots_.size();
    }
    if (given_ == read_ && ended_) return std::nullopt;
    if (CanRead())
      TakeOne(lock);
    else
      changed_.wait(lock, [&] {
        return CanRead() || (given_ < read_ && next.ready) || (given_ == read_ && ended_);
      });
  }
}

}  // namespace tessera
