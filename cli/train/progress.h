#ifndef TESSERA_CLI_TRAIN_PROGRESS_H_
#define TESSERA_CLI_TRAIN_PROGRESS_H_
// How far a training has come (cli/show/work_progress.h).
//
//   epoch 1  [############------------]  50 %  43,210 samples/s  loss 0.4571  0:12 left
#include <chrono>
#include <cstdint>
#include <optional>

#include "cli/show/work_progress.h"
#include "train/run/training_report.h"

namespace tessera::cli {

// Numbers of a moment of the training.
struct TrainingSpeed {
  double samples_per_second = 0;
  double loss = 0;                          // a running mean
  std::optional<double> seconds_left = {};  // of the epoch
};
WorkState TrainingState(const StepReport& step, const TrainingSpeed& speed);

class Progress {
 public:
  void OnStep(const StepReport& step);
  // Leaves so much time out of the speed and the time that is left.
  void LeaveOut(double seconds);

 private:
  using Clock = WorkProgress::Clock;
  void BeginEpoch(const StepReport& step);
  TrainingSpeed SpeedAt(const StepReport& step, Clock::time_point now) const;

  WorkProgress progress_;
  int64_t epoch_ = 0;
  double loss_ = 0;            // a running mean
  int64_t examples_ = 0;       // of this epoch, after the first step
  double first_fraction_ = 0;  // 0 where it is not known
  Clock::time_point begin_;    // of the epoch
};

}  // namespace tessera::cli
#endif  // TESSERA_CLI_TRAIN_PROGRESS_H_
