#ifndef TESSERA_CLI_SHOW_MEASURE_PROGRESS_H_
#define TESSERA_CLI_SHOW_MEASURE_PROGRESS_H_
// How far a measurement has come: a bar on stderr, redrawn, where that is a terminal; else nothing.
//
//   [############------------]  50 %  collectives over 4 ranks
#include <string>

namespace tessera::cli {

class MeasureProgress {
 public:
  MeasureProgress();
  // Takes the bar off the terminal.
  ~MeasureProgress();
  MeasureProgress(const MeasureProgress&) = delete;
  MeasureProgress& operator=(const MeasureProgress&) = delete;

  void Show(const std::string& what, double fraction);

 private:
  bool terminal_;
};

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SHOW_MEASURE_PROGRESS_H_
