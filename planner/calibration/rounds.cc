#include "planner/calibration/rounds.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

double Since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

double MedianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double Rounds::Time(const std::function<void()>& fn) {
  comm_.Barrier(ctx_, "measurement").Wait();
  const Clock::time_point begin = Clock::now();
  fn();
  ctx_.Sync();
  return Since(begin);
}

std::vector<double> Rounds::MeanOverRanks(const std::vector<double>& seconds) {
  constexpr double kTick = 1e-12;
  std::vector<int64_t> mine;
  for (const double s : seconds) mine.push_back(std::llround(s / kTick));
  const auto all = comm_.ExchangeNumbersSync(
      std::vector<std::vector<int64_t>>(static_cast<size_t>(comm_.size()), mine), "measurement");
  std::vector<double> means(seconds.size());
  for (const std::vector<int64_t>& of_rank : all)
    for (size_t i = 0; i < means.size(); ++i)
      means[i] += static_cast<double>(of_rank[i]) * kTick / comm_.size();
  return means;
}

std::vector<double> Rounds::Medians(const std::function<std::vector<double>()>& round) {
  constexpr double kLeast = 3, kMax = 60;
  round();
  const Clock::time_point begin = Clock::now();
  std::vector<std::vector<double>> times;  // of each part
  const auto run = [&] {
    const std::vector<double> parts = round();
    times.resize(parts.size());
    for (size_t i = 0; i < parts.size(); ++i) times[i].push_back(parts[i]);
  };
  run();
  // The ranks have to agree on the number of rounds.
  const double once = MeanOverRanks({Since(begin)})[0];
  const auto more = static_cast<int>(std::clamp(budget_ / std::max(once, 1e-7), kLeast, kMax)) - 1;
  for (int i = 0; i < more; ++i) run();
  std::vector<double> medians;
  for (const std::vector<double>& part : times) medians.push_back(MedianOf(part));
  return MeanOverRanks(medians);
}

}  // namespace tessera
