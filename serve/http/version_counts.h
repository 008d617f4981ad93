#ifndef TESSERA_SERVE_HTTP_VERSION_COUNTS_H_
#define TESSERA_SERVE_HTTP_VERSION_COUNTS_H_
// Counts of the inferences that one version of a model answered. Not for two threads at once.
#include <array>
#include <cstdint>
#include <map>
#include <numeric>

#include "serve/http/inference_facts.h"

namespace tessera::serve {

// How often times fell between the ends of buckets, as Prometheus counts them.
class Histogram {
 public:
  // Upper ends of the buckets in seconds; one more has no end.
  static constexpr std::array kEnds = {50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3,
                                       10e-3, 20e-3,  50e-3,  0.1,    0.2,  0.5,  1.0};

  void Add(double seconds);
  const std::array<int64_t, kEnds.size() + 1>& buckets() const { return buckets_; }
  int64_t count() const { return std::accumulate(buckets_.begin(), buckets_.end(), int64_t{0}); }
  double sum() const { return sum_; }

 private:
  std::array<int64_t, kEnds.size() + 1> buckets_ = {};
  double sum_ = 0;
};

// Requests and their times together.
struct CountedTime {
  int64_t count = 0;
  double seconds = 0;

  void Add(double more) {
    ++count;
    seconds += more;
  }
};

struct VersionCounts {
  std::map<int, int64_t> by_status;
  Histogram seconds;                             // of all requests, whatever their status
  std::array<Histogram, kStages.size()> stages;  // of requests that were answered with scores
  int64_t examples = 0, not_finite = 0, batches = 0;
  CountedTime succeeded, failed;
  int64_t last_ms = 0;  // of the last request, in milliseconds since 1970

  void Add(const InferenceFacts& facts);
};

// Requests that a shadow version scored, failed to score, or was not given for want of room; and
// its scores that were compared with answers, and the sum of their absolute differences.
struct ShadowCounts {
  int64_t scored = 0, failed = 0, dropped = 0, compared = 0;
  double difference = 0;

  void Add(const ShadowCounts& more);
};

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_HTTP_VERSION_COUNTS_H_
