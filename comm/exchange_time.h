#ifndef TESSERA_COMM_EXCHANGE_TIME_H_
#define TESSERA_COMM_EXCHANGE_TIME_H_
// How long exchanges have held a thread up: it waited for messages of other ranks, or moved its
// own. Exchanges of GPUs by NCCL hold streams up, not threads, and are not counted.
#include <chrono>

namespace tessera {

// The seconds of this thread, since it began.
double SecondsInExchanges();

namespace internal {

// Counts the time from its start to its end. One inside another counts once.
class ExchangeTime {
 public:
  ExchangeTime();
  ~ExchangeTime();
  ExchangeTime(const ExchangeTime&) = delete;
  ExchangeTime& operator=(const ExchangeTime&) = delete;

 private:
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace internal
}  // namespace tessera
#endif  // TESSERA_COMM_EXCHANGE_TIME_H_
