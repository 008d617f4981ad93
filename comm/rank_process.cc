#include "comm/rank_process.h"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "runtime/base/check.h"

namespace tessera::internal {

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

char StateOf(pid_t pid) {
  std::ifstream file(Format("/proc/{}/stat", int64_t{pid}));
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')');  // a name may have brackets
  return name_end == std::string::npos || name_end + 2 >= line.size() ? '\0' : line[name_end + 2];
}

std::vector<pid_t> LivingChildrenOf(pid_t pid) {
  std::vector<pid_t> children;
  std::error_code none;
  const std::string threads = Format("/proc/{}/task", int64_t{pid});
  for (const auto& thread : std::filesystem::directory_iterator(threads, none)) {
    std::ifstream file(thread.path() / "children");
    for (pid_t child = 0; file >> child;)
      if (const char state = StateOf(child); state != 'Z' && state != '\0')
        children.push_back(child);
  }
  return children;
}

std::string NameOf(int rank, const RankProcess& process) {
  return Format("rank {} (process {} on {})", rank, int64_t{process.pid},
                std::string(process.name));
}

}  // namespace tessera::internal
