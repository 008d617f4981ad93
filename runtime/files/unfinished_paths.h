#ifndef TESSERA_RUNTIME_FILES_UNFINISHED_PATHS_H_
#define TESSERA_RUNTIME_FILES_UNFINISHED_PATHS_H_
// The files and folders of this process that nobody is to find once it has ended: what is written
// under a name of its own until it is whole, locks, scratch folders. Their owners remove them; this
// list is for a process that a signal ends. Any thread may use it.
#include <string>

namespace tessera::internal {

enum class Unfinished { kFileOrEmptyFolder, kFolderWithContent };

// Before it is made; after it has gone or has become whole.
void AddUnfinished(const std::string& path, Unfinished what = Unfinished::kFileOrEmptyFolder);
void DropUnfinished(const std::string& path) noexcept;

// Removes what is on the list. Whoever adds to it or takes from it afterwards waits for ever: the
// caller ends the process. Not for signal handlers.
void RemoveUnfinished() noexcept;

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_FILES_UNFINISHED_PATHS_H_
