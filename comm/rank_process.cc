#include "comm/rank_process.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "runtime/base/check.h"

namespace tessera::internal {
namespace {

// The kernel tells this of a process; zeros if it cannot be seen.
struct Stat {
  char state = '\0';
  pid_t parent = 0;
};
Stat StatOf(pid_t pid) {
  Stat stat;
  std::ifstream file(Format("/proc/{}/stat", int64_t{pid}));
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')');  // a name may have brackets
  if (name_end != std::string::npos)
    std::istringstream(line.substr(name_end + 1)) >> stat.state >> stat.parent;
  return stat;
}

}  // namespace

// A host is a boot of a kernel and a namespace of process numbers in it: containers have their own.
RankProcess ThisProcess() {
  RankProcess process = {};
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  char numbers[32] = {};
  (void)!readlink("/proc/self/ns/pid", numbers, sizeof numbers - 1);
  gethostname(process.name, sizeof process.name - 1);
  std::snprintf(process.host, sizeof process.host, "%.40s %.36s",
                boot.empty() ? process.name : boot.c_str(), numbers);
  process.pid = getpid();
  return process;
}

char StateOf(pid_t pid) { return StatOf(pid).state; }

std::vector<pid_t> LivingChildrenOf(pid_t pid) {
  std::vector<pid_t> children;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", none)) {
    const pid_t process = std::atoi(entry.path().filename().c_str());  // 0 for other files
    if (process <= 0) continue;
    const Stat stat = StatOf(process);
    if (stat.parent == pid && stat.state != 'Z') children.push_back(process);
  }
  return children;
}

std::string NameOf(int rank, const RankProcess& process) {
  return Format("rank {} (process {} on {})", rank, int64_t{process.pid},
                std::string(process.name));
}

}  // namespace tessera::internal
