#ifndef TESSERA_SERVE_HTTP_INFERENCE_FACTS_H_
#define TESSERA_SERVE_HTTP_INFERENCE_FACTS_H_
// Facts about one inference that was answered, for metrics, statistics and the access log.
#include <array>
#include <chrono>
#include <cstdint>
#include <string>

namespace tessera::serve {

// Stages of an inference, one after the other: its body is read; it waits for its batch; the batch
// is computed; the answer's body is written. The network is in none of them.
inline constexpr std::array kStages = {"read", "queue", "compute", "write"};

struct InferenceFacts {
  std::string model;    // its name; "" where the request named none that is there
  int64_t version = 0;  // that answered, or would have; 0 without a model
  int status = 200;
  int64_t examples = 0;                             // that were scored
  int64_t not_finite = 0;                           // scores that are NaN or infinite
  bool began_batch = false;                         // whether it is the first of its batch
  std::array<double, kStages.size()> seconds = {};  // of each stage; 0: it was not reached
  double total_seconds = 0;                         // from the request to its answer
};

// Measures the stages of an inference.
class StageClock {
 public:
  using Clock = std::chrono::steady_clock;

  // Ends the stage that runs, at `now`; the next one begins.
  void End(InferenceFacts& facts, Clock::time_point now = Clock::now()) {
    if (stage_ == kStages.size()) return;
    facts.seconds[stage_++] = Seconds(last_, now);
    last_ = now;
  }
  void Finish(InferenceFacts& facts) const { facts.total_seconds = Seconds(begin_, Clock::now()); }

 private:
  static double Seconds(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
  }

  const Clock::time_point begin_ = Clock::now();
  Clock::time_point last_ = begin_;
  size_t stage_ = 0;
};

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_HTTP_INFERENCE_FACTS_H_
