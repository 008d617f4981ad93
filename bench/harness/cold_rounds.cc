#include "bench/harness/cold_rounds.h"

#include "bench/harness/cache_flusher.h"
#include "bench/harness/samples.h"

namespace tessera::bench {

double Timing::Median() const { return MedianOf(seconds); }
double Timing::Quantile(double q) const { return QuantileOf(seconds, q); }

std::vector<Timing> TimeCold(Context& ctx, const std::vector<Contender>& contenders, int rounds,
                             int64_t flush_bytes) {
  CacheFlusher flusher(ctx, flush_bytes);
  std::vector<Timing> timings;
  for (const Contender& c : contenders) {
    timings.push_back({c.name, {}});
    if (c.before) c.before(0);
    c.run(0);  // pages, branch predictors
  }
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < contenders.size(); ++i) {
      if (contenders[i].before) contenders[i].before(round);
      flusher.Flush(ctx);
      timings[i].seconds.push_back(SecondsOf([&] { contenders[i].run(round); }));
    }
  }
  return timings;
}

double Share(const Timing& reference, const Timing& timing) {
  return MedianRatio(reference.seconds, timing.seconds);
}

}  // namespace tessera::bench
