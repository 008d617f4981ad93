#ifndef TESSERA_TRAIN_RUN_STOPWATCH_H_
#define TESSERA_TRAIN_RUN_STOPWATCH_H_
// A stopwatch that can be stopped for a while.
#include <chrono>

namespace tessera {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(Clock::now() - begin_ - held_).count();
  }
  // Runs `fn` without counting its time.
  template <typename Fn>
  void Hold(Fn&& fn) {
    const auto from = Clock::now();
    fn();
    held_ += Clock::now() - from;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now();
  Clock::duration held_ = {};
};

}  // namespace tessera
#endif  // TESSERA_TRAIN_RUN_STOPWATCH_H_
