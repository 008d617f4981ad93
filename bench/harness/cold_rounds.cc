#include "bench/harness/cold_rounds.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "runtime/tensor.h"

namespace tessera::bench {
namespace {

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int64_t LastLevelCacheBytes() {
  const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return bytes > 0 ? bytes : 32 << 20;
}

double QuantileOf(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

// Reads memory twice as large as the last-level cache.
class CacheFlusher {
 public:
  explicit CacheFlusher(Context& ctx)
      : memory_(Tensor::Zeros(ctx, {2 * LastLevelCacheBytes()}, DType::kU8)) {}
  void operator()(Context& ctx) {
    const uint8_t* bytes = memory_.data<uint8_t>();
    ParallelFor(ctx, memory_.numel(), memory_.numel() / ctx.threads().threads(),
                [&](int64_t begin, int64_t end) {
                  int64_t sum = 0;
                  for (int64_t i = begin; i < end; i += 64) sum += bytes[i];
                  sink_.fetch_add(sum, std::memory_order_relaxed);
                });
  }

 private:
  Tensor memory_;
  std::atomic<int64_t> sink_ = 0;
};

}  // namespace

double Timing::Median() const { return QuantileOf(seconds, 0.5); }
double Timing::Quantile(double q) const { return QuantileOf(seconds, q); }

std::vector<Timing> TimeCold(Context& ctx, const std::vector<Contender>& contenders, int rounds) {
  CacheFlusher flush(ctx);
  std::vector<Timing> timings;
  for (const Contender& c : contenders) {
    timings.push_back({c.name, {}});
    c.run(0);  // pages, branch predictors
  }
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < contenders.size(); ++i) {
      flush(ctx);
      const double start = Now();
      contenders[i].run(round);
      timings[i].seconds.push_back(Now() - start);
    }
  }
  return timings;
}

double Share(const Timing& reference, const Timing& timing) {
  std::vector<double> shares;
  for (size_t i = 0; i < timing.seconds.size(); ++i)
    shares.push_back(reference.seconds[i] / timing.seconds[i]);
  return QuantileOf(shares, 0.5);
}

}  // namespace tessera::bench
