#include "runtime/base/cgroups.h"

#include <fstream>

namespace tessera {

// Lines of /proc/self/cgroup: "0::/path" of v2, "7:memory,…:/path" of v1.
void ForEachCgroup(const std::string& root, const std::string& controller,
                   const std::function<void(const std::string& folder, bool is_v2)>& fn) {
  const std::string mount = root + "/sys/fs/cgroup";
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos || line[second + 1] != '/')
      continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool is_v1 = controllers.find("," + controller + ",") != std::string::npos;
    if (!is_v1 && controllers != ",,") continue;
    std::string path = line.substr(second + 1);
    if (path == "/") path.clear();
    const std::string top = is_v1 ? mount + "/" + controller : mount;
    for (; !path.empty(); path.erase(path.rfind('/'))) fn(top + path, !is_v1);
    fn(top, !is_v1);
  }
}

}  // namespace tessera
