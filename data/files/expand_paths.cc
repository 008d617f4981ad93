#include "data/files/expand_paths.h"

#include <glob.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "runtime/base/check.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

thread_local std::string unreadable;  // the first folder that a glob could not read, and why

int NoteUnreadable(const char* folder, int reason) {
  if (unreadable.empty() && reason != ENOENT && reason != ENOTDIR)
    unreadable = Format("{}: cannot be read: {}", folder, std::strerror(reason));
  return 0;  // it goes on
}

std::vector<std::string> Matches(const std::string& pattern) {
  glob_t found = {};
  unreadable.clear();
  const int code = glob(pattern.c_str(), 0, NoteUnreadable, &found);
  std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  if (paths.empty() && !unreadable.empty()) throw Error(Format("{}: {}", pattern, unreadable));
  if (code != 0 || paths.empty())
    throw Error(Format("{}: expected a file, or a pattern that files match, found none", pattern));
  return paths;
}

// A pipe is at its end where it is read the second time.
void CheckReadOnce(const std::vector<std::string>& paths) {
  std::set<std::string> pipes;
  for (const std::string& path : paths)
    if (!CanReadAgain(path) && !pipes.insert(path).second)
      throw Error(Format("{}: it can be read once, but is given twice: expected it once", path));
}

}  // namespace

std::vector<std::string> ExpandPaths(const std::vector<std::string>& paths) {
  std::vector<std::string> expanded;
  std::error_code error;
  for (const std::string& path : paths) {
    if (path == "-")
      expanded.push_back("/dev/stdin");
    else if (path.find_first_of("*?[") == path.npos || fs::exists(path, error))
      expanded.push_back(path);
    else
      for (std::string& match : Matches(path)) expanded.push_back(std::move(match));
  }
  CheckReadOnce(expanded);
  return expanded;
}

bool CanReadAgain(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  return !fs::is_fifo(status) && !fs::is_socket(status) && !fs::is_character_file(status);
}

}  // namespace tessera
