#ifndef TESSERA_RUNTIME_BASE_START_THREADS_H_
#define TESSERA_RUNTIME_BASE_START_THREADS_H_
// Threads that begin, or an Error that says what they were for. A machine that has no room for
// another thread (ulimit -u, pids.max, addresses) fails in the middle of several: those that have
// begun are told to stop and joined first, since a thread left alone ends the process.
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace tessera {

// A thread that runs `fn`. Throws Error "<what>: …" where it cannot begin.
std::thread StartThread(const std::string& what, std::function<void()> fn);

// Adds threads to `threads` until there are `count`; number i runs fn(i). Where one cannot begin,
// calls `stop`, after which those before it must end, joins and removes them, and throws Error.
void StartThreads(std::vector<std::thread>& threads, int count, const std::string& what,
                  const std::function<void(int)>& fn, const std::function<void()>& stop);

}  // namespace tessera
#endif  // TESSERA_RUNTIME_BASE_START_THREADS_H_
