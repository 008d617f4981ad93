#include "cli/interrupt.h"

#include <csignal>

namespace tessera::cli {
namespace {

volatile std::sig_atomic_t interrupted = 0;

}  // namespace

void WatchForInterrupt() {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
}

bool Interrupted() { return interrupted != 0; }

}  // namespace tessera::cli
