#include "cli/ranks/wrong_start.h"

#include <chrono>
#include <thread>

#include "cli/show/error_text.h"
#include "cli/show/log.h"
#include "comm/leader.h"
#include "runtime/base/machine.h"

namespace tessera::cli {
namespace {

// mpirun ends the other processes within tens of milliseconds of the first one's end.
constexpr std::chrono::seconds kToBeEnded(3);

// Ranks on several hosts learn of each other's failures by messages alone.
bool OnSeveralHosts() { return MpiLocalSize() > 0 && MpiLocalSize() < MpiSize(); }

bool RanksMeet(const std::string& command) {
  return command == "tessera train" || command == "tessera calibrate";
}

}  // namespace

void ThrowWrongSync(const WrongStart& wrong, Communicator& comm) {
  const std::string claims =
      InvokeOnRankAndBroadcastBytes(comm, 0, "claims of outputs", [&] { return wrong.claims; });
  if (!claims.empty()) throw ErrorOfAllRanks(claims);
  ThrowTogetherSync(comm, wrong.claims.empty() ? wrong.start : wrong.claims);
}

MpiOptions MpiOptionsOf(bool own_thread) {
  MpiOptions options;
  options.comm_thread = own_thread || OnSeveralHosts() || MpiLocalSize() <= MachineCores();
  options.line_of_all = [](const ErrorOfAllRanks& error) {
    return LastErrorLine(ErrorText(error));
  };
  return options;
}

int SayWrongFlags(const std::string& command, const std::string& why) {
  if (UnderMpirun() && RanksMeet(command))
    return RunMpiRank(MpiOptionsOf(/*own_thread=*/false), [&](Communicator& comm) {
      ThrowWrongSync({.claims = "", .start = why}, comm);
      return 1;
    });
  return SayOnceUnderMpirun(command, why);
}

int SayOnceUnderMpirun(const std::string& command, const std::string& why) {
  if (UnderMpirun() && MpiRank() > 0 && !RanksMeet(command))
    std::this_thread::sleep_for(kToBeEnded);
  return SayLastError(why);
}

}  // namespace tessera::cli
