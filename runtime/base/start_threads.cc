#include "runtime/base/start_threads.h"

#include <atomic>
#include <memory>
#include <new>
#include <system_error>

namespace tessera {
namespace {

ThreadError CannotStart(const std::string& what, const std::string& why) {
  return ThreadError(Format("{} cannot be started: {}; ask for fewer threads", what, why));
}

// Holds threads until it opens; each gets to know whether it may work.
class Gate {
 public:
  void Open(bool work) {
    state_ = work ? kWork : kEnd;
    state_.notify_all();
  }
  bool Pass() const {
    state_.wait(kClosed);
    return state_ == kWork;
  }

 private:
  enum State { kClosed, kWork, kEnd };
  std::atomic<State> state_ = kClosed;
};

}  // namespace

std::thread StartThread(const std::string& what, std::function<void()> fn) {
  try {
    return std::thread(std::move(fn));
  } catch (const std::system_error& error) {
    throw CannotStart(what, error.code().message());
  }
}

void StartThreads(std::vector<std::thread>& threads, int count, const std::string& what,
                  const std::function<void(int)>& fn) {
  const auto gate = std::make_shared<Gate>();
  const auto end_all = [&] {
    gate->Open(false);
    for (std::thread& thread : threads) thread.join();
    threads.clear();
  };
  try {
    threads.reserve(static_cast<size_t>(count));
    while (static_cast<int>(threads.size()) < count) {
      const int number = static_cast<int>(threads.size());
      const auto work = [gate, fn, number] {
        if (gate->Pass()) fn(number);
      };
      threads.push_back(StartThread(Format("{} {} of {}", what, number + 1, count), work));
    }
  } catch (const std::bad_alloc&) {
    const size_t begun = threads.size();
    end_all();  // it gives back the memory that the sentence takes
    throw CannotStart(Format("{} {} of {}", what, begun + 1, count), "no memory is left");
  } catch (...) {
    end_all();
    throw;
  }
  gate->Open(true);
}

}  // namespace tessera
