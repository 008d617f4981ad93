#ifndef TESSERA_RUNTIME_FILES_WRITE_LINE_H_
#define TESSERA_RUNTIME_FILES_WRITE_LINE_H_
// A line at the end of a file that others read while it grows.
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "runtime/base/check.h"

namespace tessera {

// Writes the line and hands it to the system. Throws Error, naming the path, where the file could
// not be opened or written; the reason is errno, which the caller sets to 0 before it opens the
// file or writes.
inline void WriteLine(std::ofstream& file, const std::string& path, const std::string& line) {
  file << line << std::endl;
  if (file) return;
  const int reason = errno == 0 ? EIO : errno;
  throw Error(Format("{}: cannot be written: {}", path, std::strerror(reason)));
}

}  // namespace tessera
#endif  // TESSERA_RUNTIME_FILES_WRITE_LINE_H_
