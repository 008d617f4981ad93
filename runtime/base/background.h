#ifndef TESSERA_RUNTIME_BASE_BACKGROUND_H_
#define TESSERA_RUNTIME_BASE_BACKGROUND_H_
// Work that gives way: what is done beside threads that answer somebody.
#include <functional>

namespace tessera {

// Runs fn on a thread of its own, at a lower priority (nice 5), and returns when it has ended.
// Threads that fn starts inherit the priority, so it must start none that stay. A lock that it
// takes may be held for long. Throws what fn throws, and Error where the thread cannot begin.
void RunInBackground(const std::function<void()>& fn);

}  // namespace tessera
#endif  // TESSERA_RUNTIME_BASE_BACKGROUND_H_
