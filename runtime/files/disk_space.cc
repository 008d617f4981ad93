#include "runtime/files/disk_space.h"

#include <sys/stat.h>

#include <filesystem>
#include <limits>
#include <system_error>

#include "runtime/base/check.h"
#include "runtime/base/memory_limit.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// The nearest folder that is there, links followed.
fs::path NearestFolder(const std::string& path) {
  std::error_code error;
  fs::path at = fs::weakly_canonical(fs::absolute(path, error), error);
  if (error) return fs::current_path();
  while (!fs::is_directory(at, error) && at.has_relative_path()) at = at.parent_path();
  return at;
}

}  // namespace

DiskThere DiskOf(const std::string& path) {
  DiskThere disk = {.folder = NearestFolder(path).string(),
                    .free = std::numeric_limits<double>::infinity()};
  std::error_code error;
  const fs::space_info space = fs::space(disk.folder, error);
  // A file system that counts no bytes has a capacity of 0.
  if (!error && space.capacity > 0) disk.free = static_cast<double>(space.available);
  struct stat status = {};
  if (stat(disk.folder.c_str(), &status) == 0) disk.device = status.st_dev;
  return disk;
}

void CheckFileFits(const std::string& path, double bytes) {
  const DiskThere disk = DiskOf(path);
  if (bytes <= disk.free) return;
  throw Error(Format("it takes {}, but {} are free in {}", BytesText(bytes), BytesText(disk.free),
                     disk.folder));
}

double BytesAt(const std::string& path) {
  std::error_code error;
  double bytes = 0;
  if (fs::is_directory(path, error)) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path, error))
      if (entry.is_regular_file(error)) bytes += static_cast<double>(entry.file_size(error));
  } else if (fs::is_regular_file(path, error)) {
    bytes = static_cast<double>(fs::file_size(path, error));
  }
  return bytes;
}

}  // namespace tessera
