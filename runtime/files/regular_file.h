#ifndef TESSERA_RUNTIME_FILES_REGULAR_FILE_H_
#define TESSERA_RUNTIME_FILES_REGULAR_FILE_H_
// Opens files that are read at any place.
#include <cstdint>
#include <string>

namespace tessera {

struct RegularFile {
  int descriptor;  // for reading; the caller closes it
  int64_t bytes;
};

// Does not wait, as opening a named pipe would for who writes it. Throws Error, naming the path,
// for what cannot be read, and for a folder, a pipe, a socket or a device.
RegularFile OpenRegularFile(const std::string& path);

}  // namespace tessera
#endif  // TESSERA_RUNTIME_FILES_REGULAR_FILE_H_
