#include "runtime/files/steady_read.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "runtime/base/check.h"

namespace tessera {
namespace {

constexpr std::chrono::milliseconds kFirstPause(100);  // each is twice the one before

bool MayPass(int reason) {
  return reason == EINTR || reason == EAGAIN || reason == ETIMEDOUT || reason == EIO;
}

[[noreturn]] void Fail(std::FILE* file, int reason, int tries) {
  const off_t at = ftello(file);  // a pipe has no place
  throw Error(Format("cannot be read: {}{}{}", std::strerror(reason),
                     at < 0 ? "" : Format(", at byte {}", at),
                     tries > 1 ? Format(", in each of {} tries", tries) : ""));
}

}  // namespace

size_t ReadSteadily(std::FILE* file, void* out, size_t bytes) {
  size_t done = 0;
  for (int tries = 1;; ++tries) {
    errno = 0;
    const size_t count = std::fread(static_cast<char*>(out) + done, 1, bytes - done, file);
    done += count;
    if (done == bytes || std::ferror(file) == 0) return done;
    const int reason = errno;
    if (count > 0) tries = 1;
    std::clearerr(file);
    if (!MayPass(reason) || tries == kReadTries) Fail(file, reason, tries);
    std::this_thread::sleep_for(kFirstPause * (1 << (tries - 1)));
  }
}

}  // namespace tessera
