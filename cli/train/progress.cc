#include "cli/train/progress.h"

#include "cli/show/numbers.h"
#include "runtime/base/check.h"

namespace tessera::cli {
namespace {

constexpr double kLossMemory = 50;  // steps that the running mean looks back, about

}  // namespace

WorkState TrainingState(const StepReport& step, const TrainingSpeed& speed) {
  WorkState state = {.step = Format("epoch {}", step.epoch),
                     .fraction = step.fraction,
                     .facts = {Format("{} samples/s", WithCommas(speed.samples_per_second)),
                               Format("loss {:.4f}", speed.loss)},
                     .fields = {{"epoch", step.epoch},
                                {"step", step.step},
                                {"samples_per_second", speed.samples_per_second},
                                {"loss", speed.loss}}};
  AddTimeLeft(speed.seconds_left, state);
  return state;
}

void Progress::BeginEpoch(const StepReport& step) {
  epoch_ = step.epoch;
  examples_ = 0;
  first_fraction_ = step.fraction.value_or(0);
  begin_ = Clock::now();
}

void Progress::OnStep(const StepReport& step) {
  loss_ = step.step == 1 || epoch_ == 0 ? step.loss : loss_ + (step.loss - loss_) / kLossMemory;
  if (step.epoch != epoch_) return BeginEpoch(step);
  examples_ += step.examples;
  const auto now = Clock::now();
  if (progress_.IsDue(now)) progress_.Show(TrainingState(step, SpeedAt(step, now)), now);
}

TrainingSpeed Progress::SpeedAt(const StepReport& step, Clock::time_point now) const {
  const double seconds = std::chrono::duration<double>(now - begin_).count(),
               done = step.fraction.value_or(0) - first_fraction_;
  TrainingSpeed speed = {.samples_per_second = static_cast<double>(examples_) / seconds,
                         .loss = loss_};
  if (done > 0) speed.seconds_left = seconds * (1 - *step.fraction) / done;
  return speed;
}

void Progress::LeaveOut(double seconds) {
  begin_ += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace tessera::cli
