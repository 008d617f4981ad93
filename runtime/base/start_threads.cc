#include "runtime/base/start_threads.h"

#include <system_error>

#include "runtime/base/check.h"

namespace tessera {

std::thread StartThread(const std::string& what, std::function<void()> fn) {
  try {
    return std::thread(std::move(fn));
  } catch (const std::system_error& error) {
    throw Error(
        Format("{} cannot be started: {}; ask for fewer threads", what, error.code().message()));
  }
}

void StartThreads(std::vector<std::thread>& threads, int count, const std::string& what,
                  const std::function<void(int)>& fn, const std::function<void()>& stop) {
  try {
    threads.reserve(static_cast<size_t>(count));
    while (static_cast<int>(threads.size()) < count) {
      const int number = static_cast<int>(threads.size());
      threads.push_back(StartThread(Format("{} {} of {}", what, number + 1, count),
                                    [fn, number] { fn(number); }));
    }
  } catch (...) {
    stop();
    for (std::thread& thread : threads) thread.join();
    threads.clear();
    throw;
  }
}

}  // namespace tessera
