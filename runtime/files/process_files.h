#ifndef TESSERA_RUNTIME_FILES_PROCESS_FILES_H_
#define TESSERA_RUNTIME_FILES_PROCESS_FILES_H_
// The standard streams and limits that a program sees to before it opens its first file.

namespace tessera {

// Opens /dev/null for each standard stream that the process was started without: the next file
// that it opens would be taken for that stream, and written over by what is meant for it. Lets
// writes beyond the limit of files' sizes (ulimit -f) fail, with EFBIG, where SIGXFSZ would end the
// process.
void PrepareProcessFiles();

}  // namespace tessera
#endif  // TESSERA_RUNTIME_FILES_PROCESS_FILES_H_
