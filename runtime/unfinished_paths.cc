#include "runtime/unfinished_paths.h"

#include <filesystem>
#include <map>
#include <mutex>

namespace tessera::internal {
namespace {

namespace fs = std::filesystem;

// What lies in a folder comes before the folder.
struct List {
  std::mutex mutex;
  std::map<std::string, Unfinished, std::greater<>> paths;
};

// Never destroyed: owners may outlive main.
List& TheList() {
  static List* const list = new List;
  return *list;
}

}  // namespace

void AddUnfinished(const std::string& path, Unfinished what) {
  List& list = TheList();
  const std::lock_guard lock(list.mutex);
  list.paths.insert_or_assign(path, what);
}

void DropUnfinished(const std::string& path) noexcept {
  List& list = TheList();
  const std::lock_guard lock(list.mutex);
  list.paths.erase(path);
}

void RemoveUnfinished() noexcept {
  List& list = TheList();
  list.mutex.lock();  // and it stays so
  for (const auto& [path, what] : list.paths) {
    std::error_code error;
    if (what == Unfinished::kFolderWithContent)
      fs::remove_all(path, error);
    else
      fs::remove(path, error);
  }
}

}  // namespace tessera::internal
