#ifndef TESSERA_BENCH_HARNESS_SCRATCH_FOLDER_H_
#define TESSERA_BENCH_HARNESS_SCRATCH_FOLDER_H_
// A new folder inside a given one, removed with all that it holds when this goes, or when a
// signal ends the process: nothing that was there before is touched.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "runtime/base/check.h"
#include "runtime/files/unfinished_paths.h"

namespace tessera::bench {

class ScratchFolder {
 public:
  // parent: made where it does not exist, and kept; "": the system's folder of temporary files.
  // Throws Error where no folder can be made.
  explicit ScratchFolder(std::string parent) {
    if (parent.empty()) parent = std::filesystem::temp_directory_path().string();
    std::error_code error;
    std::filesystem::create_directories(parent, error);
    path_ = parent + "/tessera_bench_XXXXXX";
    if (mkdtemp(path_.data()) == nullptr)
      throw Error(Format("{}: no folder can be made in it: {}", parent, std::strerror(errno)));
    internal::AddUnfinished(path_, internal::Unfinished::kFolderWithContent);
  }
  ~ScratchFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
    internal::DropUnfinished(path_);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_HARNESS_SCRATCH_FOLDER_H_
