#ifndef TESSERA_CLI_INTERRUPT_H_
#define TESSERA_CLI_INTERRUPT_H_
// SIGINT (Ctrl-C) and SIGTERM: a wish that a command looks for (training ends after its step), or
// the end of the process, which leaves nothing half written. A further one within a second is the
// same wish, as launchers send it twice; a later one ends the process at once.

namespace tessera::cli {

// Notes both signals from now on. The process is ended, with the exit code of the signal, when it
// still runs `within_s` seconds after the first; 0: never.
void WatchForInterrupt(int within_s = 0);
// The signal that came first; 0: none.
int InterruptSignal();
inline bool Interrupted() { return InterruptSignal() != 0; }

// Lets both signals end the process with their exit code, once what it has not finished writing is
// removed (runtime/files/unfinished_paths.h). For commands that do not call WatchForInterrupt;
// where both are called, that counts.
void EndCleanlyOnInterrupt();

// Exit code by the shell's convention: 130 for SIGINT, 143 for SIGTERM; 0 for no signal.
inline int InterruptedExit(int signal) { return signal == 0 ? 0 : 128 + signal; }

}  // namespace tessera::cli
#endif  // TESSERA_CLI_INTERRUPT_H_
