#ifndef TESSERA_SERVE_LAST_HOLDER_H_
#define TESSERA_SERVE_LAST_HOLDER_H_
// Lets the thread that loads a model free the one before it: giving back the memory and mappings of
// a large one takes a while, for which the request that held it last would have to wait.
#include <chrono>
#include <memory>
#include <thread>

namespace tessera::serve {

inline constexpr std::chrono::milliseconds kOthersMayHold{100};

// Releases `object` once nobody else holds it, or after `most`; then its last holder frees it.
// REQUIRES: only those who hold it can give it to others.
template <typename T>
void LetGo(std::shared_ptr<T> object, std::chrono::milliseconds most = kOthersMayHold) {
  constexpr std::chrono::milliseconds kPause{1};
  for (auto waited = kPause; object.use_count() > 1 && waited <= most; waited += kPause)
    std::this_thread::sleep_for(kPause);
}

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_LAST_HOLDER_H_
