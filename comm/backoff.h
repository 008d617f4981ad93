#ifndef TESSERA_COMM_BACKOFF_H_
#define TESSERA_COMM_BACKOFF_H_
// The time that a thread which looks for messages sleeps while nothing moves: first not at all,
// then ever longer, up to 200 us. Ranks may be more than cores.
#include <algorithm>
#include <chrono>

namespace tessera::internal {

class Backoff {
 public:
  // After a look; `moved`: whether it found something. Zero: give the core to somebody else, and
  // look again.
  std::chrono::microseconds Next(bool moved) {
    rounds_ = moved ? 0 : rounds_ + 1;
    if (rounds_ < kYields) return std::chrono::microseconds(0);
    return std::chrono::microseconds(std::min(20 << std::min(rounds_ - kYields, 4), 200));
  }

 private:
  static constexpr int kYields = 50;
  int rounds_ = 0;
};

}  // namespace tessera::internal
#endif  // TESSERA_COMM_BACKOFF_H_
