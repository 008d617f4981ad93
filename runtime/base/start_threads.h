#ifndef TESSERA_RUNTIME_BASE_START_THREADS_H_
#define TESSERA_RUNTIME_BASE_START_THREADS_H_
// Threads that begin, or an Error that says what they were for. A machine that has no room for
// another thread (ulimit -u, pids.max, addresses) fails in the middle of several: none of them
// works before all have begun, so that there is nothing to stop where one cannot.
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/check.h"

namespace tessera {

// A thread could not begin: "<what> cannot be started: <why>; ask for fewer threads".
class ThreadError : public Error {
 public:
  using Error::Error;
};

// A thread that runs `fn`. Throws ThreadError where it cannot begin.
std::thread StartThread(const std::string& what, std::function<void()> fn);

// Makes `threads`, which must be empty, `count` threads; number i runs fn(i) once all have begun.
// Where one cannot begin, fn is called by none, `threads` stays empty, and ThreadError is thrown.
void StartThreads(std::vector<std::thread>& threads, int count, const std::string& what,
                  const std::function<void(int)>& fn);

}  // namespace tessera
#endif  // TESSERA_RUNTIME_BASE_START_THREADS_H_
