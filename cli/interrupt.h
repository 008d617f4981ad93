#ifndef TESSERA_CLI_INTERRUPT_H_
#define TESSERA_CLI_INTERRUPT_H_
// SIGINT (Ctrl-C) and SIGTERM as a wish: the first one is noted, a second one of either kind ends
// the process at once.

namespace tessera::cli {

// From now on both signals are noted. The process is ended, with the exit code of the signal, when
// it still runs `within_s` seconds after the first; 0: never.
void WatchForInterrupt(int within_s = 0);
// The signal that came first; 0: none.
int InterruptSignal();
inline bool Interrupted() { return InterruptSignal() != 0; }

// As shells say it: 130 for SIGINT, 143 for SIGTERM; 0 for none.
inline int InterruptedExit(int signal) { return signal == 0 ? 0 : 128 + signal; }

}  // namespace tessera::cli
#endif  // TESSERA_CLI_INTERRUPT_H_
