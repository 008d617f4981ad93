#include "cli/launch/loss_text.h"

#include <algorithm>
#include <csignal>

#include "runtime/base/check.h"

namespace tessera::cli {
namespace {

// The signal that ended a rank, as mpirun's exit code says; 0 for none. SIGTERM, SIGINT, SIGHUP and
// SIGUSR1 end ranks that have saved.
int SignalIn(const MpirunEnd& end) {
  const int signal = end.code - 128;
  const bool ends_well =
      signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGUSR1;
  const bool is_loss = signal > 0 && signal < 65 && !ends_well;
  return is_loss && !end.mpirun_was_killed ? signal : 0;
}

// "it has been stopped for 3 s (SIGSTOP)": what another rank says, without the rank's name.
std::string HowLost(const LostRank& lost, int signal) {
  const size_t name_end = lost.what.find(") ");
  const std::string how =
      name_end == std::string::npos ? lost.what : lost.what.substr(name_end + 2);
  if (signal != 0 && how.starts_with("ended")) return Format("it was killed by signal {}", signal);
  return (lost.with_host ? "its host " : "it ") + how;
}

std::string AfterStep(const std::vector<ReportedLoss>& losses) {
  std::optional<int64_t> step;
  for (const ReportedLoss& loss : losses) step = std::max(step, loss.step);
  return step ? Format(" after step {}", *step) : std::string(" before its first step");
}

}  // namespace

std::optional<Loss> LossOf(const MpirunEnd& end) {
  const int signal = SignalIn(end);
  if (end.losses.empty()) {
    if (signal == 0) return {};
    return Loss{{}, Format("a rank was lost: it was killed by signal {}", signal)};
  }
  Loss loss;
  std::string names;
  for (const ReportedLoss& reported : end.losses) {
    names += Format("{}{}", names.empty() ? "" : ", ", reported.lost.rank);
    loss.ranks.push_back(reported.lost);
  }
  const bool one = loss.ranks.size() == 1;
  loss.text = Format("{} {} {} lost{}: {}", one ? "rank" : "ranks", names, one ? "was" : "were",
                     AfterStep(end.losses),
                     (one ? "" : "of the first: ") + HowLost(loss.ranks.front(), signal));
  return loss;
}

}  // namespace tessera::cli
