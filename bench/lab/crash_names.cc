#include "bench/lab/crash_names.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>

namespace tessera::bench {
namespace {

constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

char line[256];  // made before: a handler allocates nothing

void WriteLine(int signal) {
  [[maybe_unused]] const auto written = write(STDERR_FILENO, line, std::strlen(line));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

CrashNames::CrashNames(const std::string& who) {
  const std::string text = "\n" + who.substr(0, 100) +
                           " crashed while it was checked: it read or wrote where it may not, "
                           "or aborted\n";
  std::copy_n(text.c_str(), std::min(text.size() + 1, sizeof(line)), line);
  for (const int signal : kFaults) std::signal(signal, WriteLine);
}

CrashNames::~CrashNames() {
  for (const int signal : kFaults) std::signal(signal, SIG_DFL);
}

}  // namespace tessera::bench
