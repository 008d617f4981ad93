#include "runtime/files/unfinished_paths.h"

#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <thread>

namespace tessera::internal {
namespace {

namespace fs = std::filesystem;

// The paths in this order: a folder's content comes before the folder.
struct List {
  std::mutex mutex;
  std::map<std::string, Unfinished, std::greater<>> paths;
};

// Never destroyed: owners may outlive main.
List& TheList() {
  static List* const list = new List;
  return *list;
}

// Whether it removed anything, or failed halfway (remove_all then returns -1).
bool RemoveOnce(const List& list) {
  bool removed = false;
  for (const auto& [path, what] : list.paths) {
    std::error_code error;
    removed |= what == Unfinished::kFolderWithContent ? fs::remove_all(path, error) != 0
                                                      : fs::remove(path, error);
  }
  return removed;
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
  list.mutex.lock();  // and is never unlocked
  // Other threads may still make files in a folder that is being removed, until one of their calls
  // fails: a pass that removed something is followed by another.
  constexpr int kPasses = 200;
  for (int pass = 0; pass < kPasses && RemoveOnce(list); ++pass)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

}  // namespace tessera::internal
