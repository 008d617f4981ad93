#include "bench/lab/slow_check.h"

#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <utility>

#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

void ToStandardError(const std::string& line) { std::fprintf(stderr, "\n%s\n", line.c_str()); }

void Watch(const std::stop_token& stop, const std::string& who, std::chrono::milliseconds patience,
           const SlowCheck::Tell& tell) {
  std::mutex mutex;
  std::condition_variable_any over;
  std::unique_lock lock(mutex);
  over.wait_for(lock, stop, patience, [] { return false; });
  if (stop.stop_requested()) return;
  tell(Format("{}: its check has not ended for {} s; if it never does, Ctrl-C ends the run", who,
              std::chrono::duration<double>(patience).count()));
}

}  // namespace

SlowCheck::SlowCheck(std::string who, std::chrono::milliseconds patience, Tell tell)
    : watch_([who = std::move(who), patience, tell = std::move(tell)](const std::stop_token& stop) {
        Watch(stop, who, patience, tell ? tell : ToStandardError);
      }) {}

}  // namespace tessera::bench
