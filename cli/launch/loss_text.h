#ifndef TESSERA_CLI_LAUNCH_LOSS_TEXT_H_
#define TESSERA_CLI_LAUNCH_LOSS_TEXT_H_
// Whether a start ended by the loss of ranks, and how that is said.
#include <optional>
#include <string>
#include <vector>

#include "cli/launch/mpirun.h"

namespace tessera::cli {

struct Loss {
  std::vector<LostRank> ranks;  // empty where nobody knows which
  std::string text;             // "rank 2 was lost after step 137: it was killed by signal 9"
};

// Absent where the ranks ended by themselves. A rank that was killed before the ranks had met, or
// that was the only one, is known by mpirun's exit code alone, which is then 128 and its signal.
std::optional<Loss> LossOf(const MpirunEnd& end);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_LAUNCH_LOSS_TEXT_H_
