#include "runtime/base/background.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <exception>
#include <thread>

#include "runtime/base/start_threads.h"

namespace tessera {
namespace {

// Where all cores are busy, such a thread gets a third of the time of another one.
constexpr int kNice = 5;

// Linux gives each thread a priority of its own. It can't be raised again without privileges.
void LowerPriority() {
  const auto thread = static_cast<id_t>(syscall(SYS_gettid));
  if (const int nice = getpriority(PRIO_PROCESS, thread); nice < kNice)
    (void)setpriority(PRIO_PROCESS, thread, kNice);  // at worst the work competes
}

}  // namespace

void RunInBackground(const std::function<void()>& fn) {
  std::exception_ptr error;
  std::thread thread = StartThread("background thread", [&] {
    LowerPriority();
    try {
      fn();
    } catch (...) {
      error = std::current_exception();
    }
  });
  thread.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace tessera
