#ifndef TESSERA_RUNTIME_FILES_DISK_SPACE_H_
#define TESSERA_RUNTIME_FILES_DISK_SPACE_H_
// How many bytes are free on disks.
#include <cstdint>
#include <string>

namespace tessera {

struct DiskThere {
  std::string folder;   // a folder on it
  uint64_t device = 0;  // paths on one disk have the same
  double free = 0;      // bytes that this user may write; infinite where that is not known
};

// The disk that a path lies on, or will lie on: that of the nearest folder that is there.
DiskThere DiskOf(const std::string& path);

// Throws Error where a file of so many bytes does not fit beside all that is there now.
void CheckFileFits(const std::string& path, double bytes);

// Bytes of a file, or of all files in a folder; 0 where nothing is.
double BytesAt(const std::string& path);

}  // namespace tessera
#endif  // TESSERA_RUNTIME_FILES_DISK_SPACE_H_
