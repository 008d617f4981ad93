#ifndef TESSERA_CLI_INTERRUPT_H_
#define TESSERA_CLI_INTERRUPT_H_
// SIGINT (Ctrl-C), SIGTERM, SIGHUP (the terminal was closed), SIGUSR1 (mpirun passes it on and lets
// its ranks end in their own time) and SIGPIPE (nobody reads the output any more): a wish that a
// command looks for (training ends after its step), or the end of the process, which leaves nothing
// half written. A further one within a second is the same wish, as launchers send it twice; a later
// one ends the process at once, but for SIGPIPE. A SIGHUP or SIGPIPE that is ignored when the
// program starts, as under nohup, stays ignored.
#include <functional>
#include <string>

namespace tessera::cli {

// Notes these signals from now on. The process is ended, with the exit code of the signal, when it
// still runs `within_s` seconds after the first (0: never). Before, another thread calls `last`,
// which saves what is to be kept and returns the sentence that is then written to standard error.
void WatchForInterrupt(int within_s = 0, std::function<std::string()> last = nullptr);
// The signal that came first; 0: none.
int InterruptSignal();
inline bool Interrupted() { return InterruptSignal() != 0; }

// Lets these signals end the process with their exit code, once what it has not finished writing is
// removed (runtime/files/unfinished_paths.h). For commands that do not call WatchForInterrupt;
// where both are called, that counts.
void EndCleanlyOnInterrupt();

// Exit code by the shell's convention: 129 for SIGHUP, 130 for SIGINT, 138 for SIGUSR1, 141 for
// SIGPIPE, 143 for SIGTERM; 0 for no signal.
inline int InterruptedExit(int signal) { return signal == 0 ? 0 : 128 + signal; }
// Says which of them came: "interrupted by SIGTERM"; "interrupted" for SIGINT, which a user knows.
std::string InterruptedText(int signal);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_INTERRUPT_H_
