#ifndef TESSERA_CLI_INTERRUPT_H_
#define TESSERA_CLI_INTERRUPT_H_
// Ctrl-C as a wish: the first one is noted, a second one ends the process at once.

namespace tessera::cli {

inline constexpr int kInterruptedExit = 130;

// From now on SIGINT is noted.
void WatchForInterrupt();
bool Interrupted();

}  // namespace tessera::cli
#endif  // TESSERA_CLI_INTERRUPT_H_
