#ifndef TESSERA_SERVE_LAST_HOLDER_H_
#define TESSERA_SERVE_LAST_HOLDER_H_
// Who loads a model also frees the one before it: giving back the memory and the mappings of a
// large one takes a while, which a request that was the last to hold it would have to wait for.
#include <chrono>
#include <memory>
#include <thread>

namespace tessera::serve {

inline constexpr std::chrono::milliseconds kOthersMayHold{100};

// Lets `object` go when nobody else holds it, or after `most`; then the last who holds it frees it.
// REQUIRES: nobody can get it anew but from those who hold it.
template <typename T>
void LetGo(std::shared_ptr<T> object, std::chrono::milliseconds most = kOthersMayHold) {
  constexpr std::chrono::milliseconds kPause{1};
  for (auto waited = kPause; object.use_count() > 1 && waited <= most; waited += kPause)
    std::this_thread::sleep_for(kPause);
}

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_LAST_HOLDER_H_
