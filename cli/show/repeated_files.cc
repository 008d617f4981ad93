#include "cli/show/repeated_files.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>

#include "cli/show/log.h"
#include "data/files/data_identity.h"
#include "data/files/expand_paths.h"
#include "runtime/base/check.h"

namespace tessera::cli {
namespace {

// Returns what tells the rows of a path; nullopt for an empty file, a pipe, and what cannot be
// read: whoever reads it says so.
std::optional<PathIdentity> Fingerprint(const std::string& path) {
  try {
    PathIdentity identity = IdentityOf({path}, {}).paths.front();
    if (identity.bytes > 0) return identity;
  } catch (const std::exception&) {
  }
  return {};
}

}  // namespace

void WarnOfRepeatedFiles(const std::vector<std::string>& paths, const std::string& and_so) {
  std::map<std::filesystem::path, int64_t> times;
  std::map<std::tuple<int64_t, uint64_t, uint64_t>, std::string> first;  // of a fingerprint
  const std::vector<std::string> files = ExpandPaths(paths);
  const auto times_of = [&](const std::string& file) -> int64_t& {
    std::error_code error;  // of a file that cannot be read, which what reads it says
    return times[std::filesystem::weakly_canonical(file, error)];
  };
  for (const std::string& file : files) ++times_of(file);
  for (const std::string& file : files) {
    const int64_t found = std::exchange(times_of(file), 0);
    if (found == 0) continue;
    const std::string often = found == 2 ? "twice" : Format("{} times", found);
    if (found > 1)
      Warn(Format("{} is given {}, so its rows count {}{}", file, often, often, and_so));
    const auto seen = Fingerprint(file);
    if (!seen) continue;
    const auto [other, is_new] = first.try_emplace({seen->bytes, seen->head, seen->tail}, file);
    if (!is_new)
      Warn(
          Format("{} has the size, the beginning and the end of {}: it seems to be a copy, so that "
                 "its rows count again{}",
                 file, other->second, and_so));
  }
}

}  // namespace tessera::cli
