#include "cli/sweep/processes.h"

#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "cli/child_process.h"
#include "cli/interrupt.h"
#include "cli/show/log.h"
#include "runtime/base/check.h"
#include "runtime/base/process_text.h"

namespace tessera::cli {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(20);

struct Running {
  size_t number;
  pid_t pid;
  std::uintmax_t log_begin;  // bytes of the log before this process
};

Running Start(size_t number, const ProcessStart& start) {
  const bool other = !start.program.empty();
  std::vector<std::string> words = {other ? start.program : CommandWords().at(0)};
  words.insert(words.end(), start.words.begin(), start.words.end());
  std::error_code none;
  const std::uintmax_t bytes = std::filesystem::file_size(start.log, none);
  try {
    const pid_t pid = StartChild(
        {.program = other ? start.program : kThisProgram, .words = words, .log = start.log});
    return {number, pid, none ? 0 : bytes};
  } catch (const Error& error) {
    throw Error(Format("its process cannot be started with {}: {}", start.log, error.what()));
  }
}

// The last error in what a process added to the log; "" if there is none.
std::string LastError(const std::string& log, std::uintmax_t begin) {
  std::ifstream file(log);
  file.seekg(static_cast<std::streamoff>(begin));
  std::string last;
  for (std::string line; std::getline(file, line);)
    if (const std::optional<std::string> error = ErrorOfLine(line)) last = *error;
  return last;
}

std::string WhyEnded(int status, const std::string& log, std::uintmax_t log_begin) {
  if (WIFSIGNALED(status)) return Format("ended by signal {}", WTERMSIG(status));
  if (WEXITSTATUS(status) == 0) return "";
  const std::string error = LastError(log, log_begin);
  return error.empty() ? Format("ended with exit code {}", WEXITSTATUS(status)) : error;
}

void PassOn(const std::vector<Running>& running) {
  for (const Running& process : running) kill(process.pid, InterruptSignal());
}

// Takes the processes that have ended out of `running`.
void Reap(const std::vector<ProcessStart>& starts, std::vector<Running>& running,
          const std::function<void(size_t, const std::string&)>& on_end) {
  for (size_t r = 0; r < running.size();) {
    const Running process = running[r];
    int status = 0;
    if (waitpid(process.pid, &status, WNOHANG) != process.pid) {
      ++r;
      continue;
    }
    running.erase(running.begin() + static_cast<std::ptrdiff_t>(r));
    const std::string why = WhyEnded(status, starts[process.number].log, process.log_begin);
    if (why.empty() || !Interrupted()) on_end(process.number, why);
  }
}

}  // namespace

void RunProcesses(const std::vector<ProcessStart>& starts, int jobs,
                  const std::function<void(size_t, const std::string&)>& on_end) {
  std::vector<Running> running;
  const auto most = static_cast<size_t>(jobs);
  bool passed_on = false;
  for (size_t next = 0; next < starts.size() || !running.empty();) {
    if (!passed_on && Interrupted()) {
      PassOn(running);
      passed_on = true;
    }
    if (passed_on && running.empty()) return;
    for (; !passed_on && next < starts.size() && running.size() < most; ++next) {
      try {
        running.push_back(Start(next, starts[next]));
      } catch (const Error& error) {
        on_end(next, error.what());
      }
    }
    std::this_thread::sleep_for(kLookEvery);
    Reap(starts, running, on_end);
  }
}

}  // namespace tessera::cli
