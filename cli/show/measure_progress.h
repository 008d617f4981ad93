#ifndef TESSERA_CLI_SHOW_MEASURE_PROGRESS_H_
#define TESSERA_CLI_SHOW_MEASURE_PROGRESS_H_
// How far a measurement has come, or other work of few parts (cli/show/work_progress.h). A bar
// shows each part as it begins.
//
//   [############------------]  50 %  collectives over 4 ranks
#include <string>

#include "cli/show/work_progress.h"

namespace tessera::cli {

class MeasureProgress {
 public:
  void Show(const std::string& what, double fraction);
  // Takes the bar off the terminal, so that other lines may follow.
  void Clear() { ClearBar(); }

 private:
  WorkProgress progress_;
};

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SHOW_MEASURE_PROGRESS_H_
