#include "cli/show/repeated_files.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "cli/show/log.h"
#include "data/files/expand_paths.h"
#include "runtime/base/check.h"

namespace tessera::cli {

void WarnOfRepeatedFiles(const std::vector<std::string>& paths) {
  std::map<std::filesystem::path, int64_t> times;
  const std::vector<std::string> files = ExpandPaths(paths);
  const auto times_of = [&](const std::string& file) -> int64_t& {
    std::error_code error;  // of a file that cannot be read, which what reads it says
    return times[std::filesystem::weakly_canonical(file, error)];
  };
  for (const std::string& file : files) ++times_of(file);
  for (const std::string& file : files) {
    const int64_t found = std::exchange(times_of(file), 1);
    const std::string often = found == 2 ? "twice" : Format("{} times", found);
    if (found > 1) Warn(Format("{} is given {}, so its rows count {}", file, often, often));
  }
}

}  // namespace tessera::cli
