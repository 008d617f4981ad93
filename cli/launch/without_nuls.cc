#include "cli/launch/without_nuls.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "cli/without_signals.h"
#include "runtime/base/check.h"
#include "runtime/base/start_threads.h"

namespace tessera::cli {
namespace {

// Writes to standard error. What nobody reads any more is dropped: SIGPIPE is held back.
void Write(const char* begin, const char* end) {
  while (begin < end) {
    const ssize_t written = write(STDERR_FILENO, begin, static_cast<size_t>(end - begin));
    if (written < 0 && errno != EINTR) return;
    begin += std::max(written, ssize_t{0});
  }
}

}  // namespace

WithoutNuls::WithoutNuls() {
  if (pipe2(ends_, O_CLOEXEC) != 0)
    throw Error(Format("no pipe for mpirun's errors can be made: {}", std::strerror(errno)));
  try {
    const WithoutSignals none;  // the new thread takes none
    thread_ = StartThread("thread that passes on mpirun's errors", [this] { PassOn(); });
  } catch (...) {
    close(ends_[0]);
    CloseChildEnd();
    throw;
  }
}

WithoutNuls::~WithoutNuls() {
  CloseChildEnd();
  child_has_ended_ = true;
  thread_.join();
  close(ends_[0]);
}

void WithoutNuls::CloseChildEnd() {
  if (ends_[1] >= 0) close(std::exchange(ends_[1], -1));
}

void WithoutNuls::PassOn() {
  char text[4096];
  for (;;) {
    pollfd in = {ends_[0], POLLIN, 0};
    const int ready = poll(&in, 1, /*timeout=*/50);
    // The pipe stays open where a process of the child's outlives it.
    if (ready == 0 && child_has_ended_) return;
    if (ready <= 0) continue;
    const ssize_t size = read(ends_[0], text, sizeof text);
    if (size <= 0) return;
    Write(text, std::remove(text, text + size, '\0'));
  }
}

}  // namespace tessera::cli
