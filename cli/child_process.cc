#include "cli/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "runtime/base/check.h"

namespace tessera::cli {
namespace {

// Runs in the child between fork and its program: it calls only what a signal handler may call.
bool SetUp(const char* log, int errors, bool guarded, pid_t parent) {
  if (guarded) {
    setpgid(0, 0);
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0) return false;
    if (getppid() != parent) raise(SIGTERM);  // it ended before
  }
  const int in = open("/dev/null", O_RDONLY);
  if (in < 0 || dup2(in, STDIN_FILENO) < 0) return false;
  if (in != STDIN_FILENO) close(in);
  if (*log == '\0') return errors == STDERR_FILENO || dup2(errors, STDERR_FILENO) >= 0;
  const int out = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  return out >= 0 && dup2(out, STDOUT_FILENO) >= 0 && dup2(out, STDERR_FILENO) >= 0;
}

// Returns the child's errno; 0 once its program runs.
int ErrorOf(int pipe_end) {
  int error = 0;
  ssize_t bytes = 0;
  do bytes = read(pipe_end, &error, sizeof error);
  while (bytes < 0 && errno == EINTR);
  close(pipe_end);
  return bytes == static_cast<ssize_t>(sizeof error) ? error : 0;
}

}  // namespace

pid_t StartChild(const ChildStart& start) {
  std::vector<std::string> words = start.words;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const auto fail = [](int error) { throw Error(std::strerror(error)); };
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail(errno);
  const pid_t parent = getpid(), child = fork();
  if (child == 0) {
    if (SetUp(start.log.c_str(), start.errors, start.guarded, parent))
      execv(start.program.c_str(), argv.data());
    const int error = errno;
    (void)!write(ends[1], &error, sizeof error);
    _exit(127);
  }
  const int no_fork = child < 0 ? errno : 0;
  close(ends[1]);
  const int error = ErrorOf(ends[0]);
  if (no_fork != 0) fail(no_fork);
  if (error == 0) return child;
  waitpid(child, nullptr, 0);
  fail(error);
  return 0;
}

}  // namespace tessera::cli
