#include "serve/http/access_log.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/process_text.h"
#include "runtime/base/start_threads.h"
#include "serve/http/inference_protocol.h"

namespace tessera::serve {
namespace {

constexpr size_t kMaxText = 500;

int64_t Microseconds(double seconds) { return static_cast<int64_t>(seconds * 1e6 + 0.5); }

// Opens the file without waiting for a reader of a pipe; its writes may wait.
int OpenForAppending(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644);
  if (file >= 0) fcntl(file, F_SETFL, O_APPEND);
  return file;
}

// The reason why a file was not opened.
std::string OpenErrorText(const std::string& path, int error) {
  struct stat about {};
  const bool is_pipe = stat(path.c_str(), &about) == 0 && S_ISFIFO(about.st_mode);
  if (error == ENXIO && is_pipe) return "it is a pipe that nobody reads: start its reader first";
  return std::strerror(error);
}

// Returns how many of the bytes are written at once: all into a file; into a pipe or terminal no
// more than it takes without waiting once it is ready, up to the end of a line if there is one.
size_t PieceOf(int file, std::string_view bytes) {
  struct stat about {};
  if (fstat(file, &about) == 0 && S_ISREG(about.st_mode)) return bytes.size();
  if (bytes.size() <= PIPE_BUF) return bytes.size();
  const size_t end = bytes.substr(0, PIPE_BUF).rfind('\n');
  return end == std::string_view::npos ? PIPE_BUF : end + 1;
}

// A reader of standard output that has gone is an error of writing, not the end of the process.
void HoldBrokenPipes() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

// Waits until the file takes bytes, for a moment at most.
bool IsReady(int file, std::chrono::milliseconds time) {
  pollfd ready{.fd = file, .events = POLLOUT, .revents = 0};
  return poll(&ready, 1, static_cast<int>(time.count())) > 0;
}

}  // namespace

std::string AccessLine(const AccessEntry& entry) {
  const auto text = [](const std::string& value) { return QuotedJson(value.substr(0, kMaxText)); };
  std::string line =
      Format(R"({{"time":"{}","client":{},"method":{},"path":{},"status":{},"request_bytes":{},)"
             R"("bytes":{},"us":{})",
             UtcTimeText(entry.time), text(entry.client), text(entry.method), text(entry.path),
             entry.status, entry.request_bytes, entry.bytes, entry.taken.count());
  if (const auto& inference = entry.inference) {
    line += Format(R"(,"model":{},"version":"{}","rows":{})", text(inference->model),
                   inference->version == 0 ? "" : std::to_string(inference->version),
                   inference->examples);
    for (size_t s = 0; s < kStages.size(); ++s)
      line += Format(R"(,"{}_us":{})", kStages[s], Microseconds(inference->seconds[s]));
  }
  return line + "}\n";
}

AccessLog::AccessLog(std::string path, std::function<void(const std::string&)> say)
    : path_(std::move(path)), say_(std::move(say)) {
  file_ = path_ == "-" ? STDOUT_FILENO : OpenForAppending(path_);
  if (file_ < 0)
    throw Error(Format("{}: cannot be opened: {}", path_, OpenErrorText(path_, errno)));
  try {
    thread_ = StartThread("thread of the access log", [this] { Work(); });
  } catch (...) {
    Close();
    throw;
  }
}

AccessLog::~AccessLog() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_one();
  thread_.join();
  Close();
}

void AccessLog::Close() {
  if (path_ != "-") close(file_);
}

void AccessLog::Add(const AccessEntry& entry) noexcept {
  try {
    const std::string line = AccessLine(entry);
    const std::lock_guard lock(mutex_);
    const bool fits = lines_.size() + line.size() <= kMaxBytes;
    if (fits) lines_ += line;
    dropped_ += fits ? 0 : 1;
  } catch (const std::exception&) {  // no memory for the line
    const std::lock_guard lock(mutex_);
    ++dropped_;
  }
}

void AccessLog::Reopen() {
  const std::lock_guard lock(mutex_);
  reopen_ = true;
}

int64_t AccessLog::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

// Writes what came within each pause, as one piece.
void AccessLog::Work() {
  HoldBrokenPipes();
  for (bool last = false; !last;) {
    std::unique_lock lock(mutex_);
    last = changed_.wait_for(lock, kPause, [this] { return closed_; });
    const bool reopen = std::exchange(reopen_, false);
    std::string lines = std::exchange(lines_, {});
    lock.unlock();
    if (reopen) OpenAnew();
    Write(std::move(lines), last);
  }
  if (const int64_t lost = dropped(); lost > 0) Say(Format("{} of its lines were lost", lost));
}

void AccessLog::OpenAnew() {
  if (path_ == "-") return;
  const int file = OpenForAppending(path_);
  if (file < 0)
    return SayOnce("cannot be opened anew, so that the file before it is written",
                   OpenErrorText(path_, errno));
  close(std::exchange(file_, file));
}

// Writes all lines, or says why it cannot and drops them.
void AccessLog::Write(std::string lines, bool last) {
  constexpr std::chrono::milliseconds kLastTime{1000};
  std::string_view left = lines;
  while (!left.empty()) {
    if (!IsReady(file_, last ? kLastTime : kPause)) {
      if (last) return Drop(left);
      const std::lock_guard lock(mutex_);
      if (closed_) last = true;
      continue;
    }
    const ssize_t written = write(file_, left.data(), PieceOf(file_, left));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int error = errno;
      Drop(left);
      return SayOnce("cannot be written, so that lines are lost", std::strerror(error));
    }
    left.remove_prefix(static_cast<size_t>(written));
  }
  if (!lines.empty()) failed_ = false;
}

void AccessLog::Drop(std::string_view lines) {
  const std::lock_guard lock(mutex_);
  dropped_ += std::ranges::count(lines, '\n');
}

void AccessLog::SayOnce(const char* what, const std::string& why) {
  if (std::exchange(failed_, true)) return;
  Say(Format("{}: {}", what, why));
}

void AccessLog::Say(const std::string& what) {
  const std::string sentence = Format("access log {}: {}", path_, what);
  if (say_) return say_(sentence);
  std::fprintf(stderr, "tessera: %s\n", sentence.c_str());
}

}  // namespace tessera::serve
