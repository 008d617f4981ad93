#include "cli/train/progress.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "cli/show/numbers.h"
#include "runtime/base/check.h"

namespace tessera::cli {
namespace {

constexpr double kLossMemory = 50;  // steps that the running mean looks back, about
constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr auto kLineEvery = std::chrono::seconds(5);

}  // namespace

std::string ProgressLine(int64_t epoch, double fraction, double samples_per_second, double loss,
                         double seconds_left) {
  std::string line = Format("epoch {}  {} {:3.0f} %  {} samples/s  loss {:.4f}", epoch,
                            Bar(fraction), 100 * fraction, WithCommas(samples_per_second), loss);
  if (seconds_left >= 0) line += Format("  {} left", Duration(seconds_left));
  return line;
}

Progress::Progress() : terminal_(isatty(STDERR_FILENO) != 0) {}

void Progress::BeginEpoch(const StepReport& step) {
  epoch_ = step.epoch;
  examples_ = 0;
  first_fraction_ = step.fraction;
  begin_ = Clock::now();
  next_draw_ = begin_ + (terminal_ ? Clock::duration(kRedraw) : Clock::duration(kLineEvery));
}

void Progress::OnStep(const StepReport& step) {
  loss_ = step.step == 1 || epoch_ == 0 ? step.loss : loss_ + (step.loss - loss_) / kLossMemory;
  if (step.epoch != epoch_) return BeginEpoch(step);
  examples_ += step.examples;
  const auto now = Clock::now();
  if (now >= next_draw_) Draw(step, now);
}

void Progress::Draw(const StepReport& step, Clock::time_point now) {
  const double seconds = std::chrono::duration<double>(now - begin_).count(),
               done = step.fraction - first_fraction_;
  const double left = done > 0 ? seconds * (1 - step.fraction) / done : -1;
  const std::string line = ProgressLine(step.epoch, step.fraction,
                                        static_cast<double>(examples_) / seconds, loss_, left);
  std::fprintf(stderr, terminal_ ? "\r%s\x1b[K" : "%s\n", line.c_str());
  std::fflush(stderr);
  next_draw_ = now + (terminal_ ? Clock::duration(kRedraw) : Clock::duration(kLineEvery));
}

void Progress::LeaveOut(double seconds) {
  begin_ += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

void Progress::Clear() {
  if (!terminal_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
}

}  // namespace tessera::cli
