#ifndef TESSERA_CLI_TRAIN_PROGRESS_H_
#define TESSERA_CLI_TRAIN_PROGRESS_H_
// How far a training has come: a bar that is redrawn where the output is a terminal, else a line
// now and then.
//
//   epoch 1  [##########----------]  50 %  43,210 samples/s  loss 0.4571  0:12 left
#include <chrono>
#include <string>

#include "train/run/training_report.h"

namespace tessera::cli {

// The line for the given numbers; `seconds_left` below 0 is left out.
std::string ProgressLine(int64_t epoch, double fraction, double samples_per_second, double loss,
                         double seconds_left);

class Progress {
 public:
  // Draws to stderr, so that stdout holds results alone.
  Progress();

  void OnStep(const StepReport& step);
  // Leaves so much time out of the speed and the time that is left.
  void LeaveOut(double seconds);
  // Takes a bar off the terminal, so that other lines may follow.
  void Clear();

 private:
  using Clock = std::chrono::steady_clock;
  void BeginEpoch(const StepReport& step);
  void Draw(const StepReport& step, Clock::time_point now);

  bool terminal_;
  int64_t epoch_ = 0;
  double loss_ = 0;       // a running mean
  int64_t examples_ = 0;  // of this epoch, after the first step
  double first_fraction_ = 0;
  Clock::time_point begin_, next_draw_;
};

}  // namespace tessera::cli
#endif  // TESSERA_CLI_TRAIN_PROGRESS_H_
