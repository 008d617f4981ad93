#include "bench/embedding/device_rounds.h"

#include <algorithm>

namespace tessera::bench {
namespace {

double DeviceSeconds(Context& ctx, const std::function<void()>& run) {
  if (ctx.device() == Device::Cpu()) return WallSeconds(ctx, run);
  const Event begin = Event::Record(ctx.stream());
  run();
  const Event end = Event::Record(ctx.stream());
  return Event::SecondsBetween(begin, end);
}

}  // namespace

double WallSeconds(Context& ctx, const std::function<void()>& run) {
  ctx.Sync();
  return SecondsOf([&] {
    run();
    ctx.Sync();
  });
}

DeviceRounds::DeviceRounds(Context& ctx, int rounds, int64_t flush_bytes)
    : ctx_(ctx),
      rounds_(rounds),
      source_(Tensor::Zeros(ctx, {flush_bytes}, DType::kU8)),
      target_(Tensor::Zeros(ctx, {flush_bytes}, DType::kU8)) {}

std::vector<Timing> DeviceRounds::Time(const std::vector<Contender>& contenders) {
  std::vector<Timing> timings;
  for (const Contender& c : contenders) timings.push_back({c.name, {}});
  for (int round = -1; round < rounds_; ++round)
    for (size_t i = 0; i < contenders.size(); ++i) {
      if (contenders[i].before) contenders[i].before(std::max(round, 0));
      target_.Fill(ctx_, 1);
      const double seconds = DeviceSeconds(ctx_, [&] { contenders[i].run(std::max(round, 0)); });
      if (round >= 0) timings[i].seconds.push_back(seconds);
    }
  return timings;
}

Contender DeviceRounds::Copy() {
  return {"copy", [this](int) { target_.CopyFrom(ctx_, source_); }};
}

}  // namespace tessera::bench
