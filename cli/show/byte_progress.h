#ifndef TESSERA_CLI_SHOW_BYTE_PROGRESS_H_
#define TESSERA_CLI_SHOW_BYTE_PROGRESS_H_
// How much of something has been written (cli/show/work_progress.h).
//
//   [############------------]  50 %  1.2 GiB of 2.4 GiB  0:12 left
#include <cstdint>

#include "cli/show/work_progress.h"

namespace tessera::cli {

// `seconds` since the beginning.
WorkState BytesState(int64_t done, int64_t total, double seconds);

class ByteProgress {
 public:
  void Show(int64_t done, int64_t total);
  double seconds() const { return progress_.seconds(); }

 private:
  WorkProgress progress_;
};

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SHOW_BYTE_PROGRESS_H_
