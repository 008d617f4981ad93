#include "serve/http/version_counts.h"

#include <algorithm>
#include <chrono>

namespace tessera::serve {

void Histogram::Add(double seconds) {
  const auto bucket = std::lower_bound(kEnds.begin(), kEnds.end(), seconds);
  ++buckets_[static_cast<size_t>(bucket - kEnds.begin())];
  sum_ += seconds;
}

void VersionCounts::Add(const InferenceFacts& facts) {
  using std::chrono::milliseconds;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  last_ms = std::chrono::duration_cast<milliseconds>(now).count();
  ++by_status[facts.status];
  seconds.Add(facts.total_seconds);
  not_finite += facts.not_finite;
  batches += facts.began_batch ? 1 : 0;
  (facts.status == 200 ? succeeded : failed).Add(facts.total_seconds);
  if (facts.status != 200) return;
  examples += facts.examples;
  for (size_t s = 0; s < kStages.size(); ++s) stages[s].Add(facts.seconds[s]);
}

void ShadowCounts::Add(const ShadowCounts& more) {
  scored += more.scored;
  failed += more.failed;
  dropped += more.dropped;
  compared += more.compared;
  difference += more.difference;
}

}  // namespace tessera::serve
