#include "cli/interrupt.h"

#include <unistd.h>

#include <csignal>
#include <initializer_list>

namespace tessera::cli {
namespace {

volatile std::sig_atomic_t noted = 0;
volatile std::sig_atomic_t within = 0;

void Note(int signal) {
  for (const int next : {SIGINT, SIGTERM}) std::signal(next, SIG_DFL);
  noted = signal;
  alarm(static_cast<unsigned>(within));
}

void EndForTime(int) {
  constexpr char kText[] =
      "tessera: ended as it stands: the step and its checkpoint took longer than --stop-within\n";
  (void)!write(STDERR_FILENO, kText, sizeof kText - 1);
  _exit(InterruptedExit(noted));
}

void Handle(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

}  // namespace

void WatchForInterrupt(int within_s) {
  within = within_s;
  if (within_s > 0) Handle(SIGALRM, EndForTime);
  for (const int signal : {SIGINT, SIGTERM}) Handle(signal, Note);
}

int InterruptSignal() { return noted; }

}  // namespace tessera::cli
