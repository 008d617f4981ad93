#ifndef TESSERA_CLI_SHOW_WORK_PROGRESS_H_
#define TESSERA_CLI_SHOW_WORK_PROGRESS_H_
// How far some work has come, as it is shown: on a terminal a bar, redrawn ten times a second; else
// lines of the log (cli/show/log.h), the first after 10 seconds, then every 10, and more rarely as
// the work gets long, down to one a minute. --quiet: nothing.
//
//   epoch 1  [############------------]  50 %  43,210 samples/s  loss 0.4571  0:12 left
//   … INFO  epoch 1 50 % 43,210 samples/s loss 0.4571 0:12 left
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cli/show/log.h"

namespace tessera::cli {

struct WorkState {
  std::string step;                    // of the work; "": it has none
  std::optional<double> fraction = 0;  // that is done; absent where nobody knows
  std::vector<std::string> facts;      // "43,210 samples/s"
  LogFields fields;                    // beside the fraction
};

// Adds the time that is left to the facts and the fields, where there is some.
void AddTimeLeft(std::optional<double> seconds, WorkState& state);
// The time that is left if the rest goes as `fraction` did in `seconds`; absent at both ends, and
// without one.
std::optional<double> SecondsLeft(std::optional<double> fraction, double seconds);

std::string BarLine(const WorkState& state);
std::string LogMessage(const WorkState& state);

// The time from one line to the next, when the work has taken so long.
std::chrono::duration<double> PauseOfLines(std::chrono::duration<double> taken);

class WorkProgress {
 public:
  using Clock = std::chrono::steady_clock;

  WorkProgress();
  // Takes the bar off the terminal.
  ~WorkProgress() { ClearBar(); }
  WorkProgress(const WorkProgress&) = delete;
  WorkProgress& operator=(const WorkProgress&) = delete;

  // Whether it is time to show a state.
  bool IsDue(Clock::time_point now) const { return shows_ && now >= next_; }
  // For work that tells its state rarely: a bar then shows each.
  bool IsBar() const { return is_bar_; }
  void Show(const WorkState& state, Clock::time_point now);

  double seconds() const;  // since the work began

 private:
  Clock::duration Pause(Clock::time_point now) const;

  bool shows_, is_bar_;
  Clock::time_point begin_, next_;
};

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SHOW_WORK_PROGRESS_H_
