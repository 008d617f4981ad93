#ifndef TESSERA_RUNTIME_FILES_PROCESS_FILES_H_
#define TESSERA_RUNTIME_FILES_PROCESS_FILES_H_
// The standard streams that a program sees to before it opens its first file.

namespace tessera {

// Opens /dev/null for each standard stream that the process was started without: the next file
// that it opens would be taken for that stream, and written over by what is meant for it.
void PrepareProcessFiles();

}  // namespace tessera
#endif  // TESSERA_RUNTIME_FILES_PROCESS_FILES_H_
