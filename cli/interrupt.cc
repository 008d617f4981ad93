#include "cli/interrupt.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <string>
#include <utility>

#include "cli/show/log.h"
#include "cli/without_signals.h"
#include "runtime/base/check.h"
#include "runtime/base/start_threads.h"
#include "runtime/files/unfinished_paths.h"

namespace tessera::cli {
namespace {

using Clock = std::chrono::steady_clock;

volatile std::sig_atomic_t noted = 0;
volatile std::sig_atomic_t within = 0;

// A supervisor may send one wish twice: `timeout` signals its child and then its process group,
// microseconds later.
constexpr Clock::duration kSameWish = std::chrono::seconds(1);
std::atomic<Clock::rep> first_came = 0;                       // 0: no signal has come
static_assert(std::atomic<Clock::rep>::is_always_lock_free);  // handlers use it

// Whether this signal is the first. One that comes long after the first ends the process.
bool IsFirst(int signal) {
  if (signal == SIGPIPE) std::signal(SIGPIPE, SIG_IGN);  // later writes fail, too
  const Clock::rep now = Clock::now().time_since_epoch().count();
  Clock::rep first = 0;
  if (first_came.compare_exchange_strong(first, now)) return true;
  if (Clock::duration(now - first) < kSameWish) return false;
  std::signal(signal, SIG_DFL);
  std::raise(signal);
  return false;
}

void Note(int signal) {
  if (!IsFirst(signal)) return;
  noted = signal;
  alarm(static_cast<unsigned>(within));
}

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGPIPE};

const char* NameOf(int signal) {
  switch (signal) {
    case SIGTERM:
      return "SIGTERM";
    case SIGHUP:
      return "SIGHUP";
    case SIGUSR1:
      return "SIGUSR1";
    case SIGPIPE:
      return "SIGPIPE (nobody reads its output any more)";
    default:
      return "SIGINT";
  }
}

void Handle(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

bool IsIgnored(int signal) {
  struct sigaction now = {};
  return sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

// Whether these were ignored when the program started. It is looked at before libraries are
// initialized: UCX, which Open MPI 5 brings, then takes SIGHUP for itself.
bool ignores_hangup = false, ignores_pipe = false;
void LookAtIgnored() {
  ignores_hangup = IsIgnored(SIGHUP);
  ignores_pipe = IsIgnored(SIGPIPE);
}
[[gnu::used, gnu::section(".preinit_array")]] void (*const look_first)() = LookAtIgnored;

void HandleAll(void (*handler)(int)) {
  for (const int signal : kSignals) {
    const bool ignores =
        (signal == SIGHUP && ignores_hangup) || (signal == SIGPIPE && ignores_pipe);
    Handle(signal, ignores ? SIG_IGN : handler);
  }
}

int pipe_ends[2] = {-1, -1};  // from handlers to the thread that ends the process

void Tell(int signal) {
  const char byte = static_cast<char>(signal);
  (void)!write(pipe_ends[1], &byte, 1);
}

void PassOn(int signal) {
  if (!IsFirst(signal)) return;
  Tell(signal);
  // The thread that wrote stays here: it would end the process first, with an error of its own.
  while (signal == SIGPIPE) pause();
}

[[noreturn]] void EndNow(const std::string& why, int signal) {
  const std::string line = LastErrorLine(why);
  (void)!write(STDERR_FILENO, line.data(), line.size());
  _exit(InterruptedExit(signal));
}

std::string EndAsItStands() {
  return "ended as it stands: the step and its checkpoint took longer than --stop-within";
}

// Called before the process is ended for its time. Never destroyed: its thread may outlive main.
std::function<std::string()>& Last() {
  static auto* const last = new std::function<std::string()>(EndAsItStands);
  return *last;
}

void EndOnSignal() {
  char signal = 0;
  if (read(pipe_ends[0], &signal, 1) != 1) return;
  if (signal == SIGALRM) EndNow(Last()(), noted);
  internal::RemoveUnfinished();
  EndNow(Format("ended by {}: what was not finished is removed", NameOf(signal)), signal);
}

// Starts the thread that ends the process; false where its pipe cannot be made, or it is there.
// Throws Error where it cannot begin.
bool StartEnd() {
  if (pipe_ends[0] >= 0 || pipe2(pipe_ends, O_CLOEXEC) != 0) return false;
  const WithoutSignals none;  // the new thread takes none
  StartThread("thread that ends the command on a signal", EndOnSignal).detach();
  return true;
}

}  // namespace

void EndCleanlyOnInterrupt() {
  if (StartEnd()) HandleAll(PassOn);
}

void WatchForInterrupt(int within_s, std::function<std::string()> last) {
  within = within_s;
  if (last) Last() = std::move(last);
  if (within_s > 0) {
    StartEnd();
    Handle(SIGALRM, Tell);
  }
  HandleAll(Note);
}

int InterruptSignal() { return noted; }

std::string InterruptedText(int signal) {
  return signal == SIGINT ? "interrupted" : Format("interrupted by {}", NameOf(signal));
}

}  // namespace tessera::cli
