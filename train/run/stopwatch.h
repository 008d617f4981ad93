#ifndef TESSERA_TRAIN_RUN_STOPWATCH_H_
#define TESSERA_TRAIN_RUN_STOPWATCH_H_
// A stopwatch that can be stopped for a while. It is of the thread that made it.
#include <chrono>

#include "comm/exchange_time.h"

namespace tessera {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(Clock::now() - begin_ - held_).count();
  }
  // Those of seconds() in which exchanges between ranks held the thread up.
  double exchange_seconds() const { return SecondsInExchanges() - exchanges_before_; }
  // Runs `fn` without counting its time.
  template <typename Fn>
  void Hold(Fn&& fn) {
    const auto from = Clock::now();
    const double exchanging = SecondsInExchanges();
    fn();
    held_ += Clock::now() - from;
    exchanges_before_ += SecondsInExchanges() - exchanging;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now();
  Clock::duration held_ = {};
  double exchanges_before_ = SecondsInExchanges();
};

}  // namespace tessera
#endif  // TESSERA_TRAIN_RUN_STOPWATCH_H_
