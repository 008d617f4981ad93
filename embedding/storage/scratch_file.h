#ifndef TESSERA_EMBEDDING_STORAGE_SCRATCH_FILE_H_
#define TESSERA_EMBEDDING_STORAGE_SCRATCH_FILE_H_
// A file without a name, for as long as somebody has it open: nothing of it outlasts the process,
// however that ends. Reads and writes are direct (O_DIRECT): whole blocks at multiples of
// kBlockBytes, in memory aligned so, past the page cache. On a file system that knows none of this,
// they pass through the page cache, and direct() says so.
#include <cstdint>
#include <memory>
#include <string>

namespace tessera {

inline constexpr int64_t kBlockBytes = 4096;

// Memory aligned to blocks.
struct FreeAligned {
  void operator()(char* memory) const;
};
using AlignedBytes = std::unique_ptr<char[], FreeAligned>;
AlignedBytes AllocateAligned(int64_t bytes);

class ScratchFile {
 public:
  // In `folder`; "": $TMPDIR, or /tmp. Its room is taken at once. Throws Error, naming the folder,
  // where it cannot be made, or has no room (a full disk, a limit of file sizes).
  ScratchFile(const std::string& folder, int64_t bytes);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  int fd() const { return fd_; }
  bool direct() const { return direct_; }
  int64_t bytes() const { return bytes_; }
  const std::string& folder() const { return folder_; }

 private:
  void Reserve(int64_t bytes) const;
  std::string folder_;
  int64_t bytes_;
  int fd_ = -1;
  bool direct_ = false;
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_STORAGE_SCRATCH_FILE_H_
