#ifndef TESSERA_RUNTIME_FILES_STEADY_READ_H_
#define TESSERA_RUNTIME_FILES_STEADY_READ_H_
// Reads of files on storage that answers late: a read that was interrupted, or that a server did
// not answer in time (EINTR, EAGAIN, ETIMEDOUT, EIO), is made again, up to kReadTries times, with
// pauses of 1.5 s in all. A file that is gone from its server (ESTALE) stays gone, and what a disk
// has lost fails each time.
#include <cstdint>
#include <cstdio>

namespace tessera {

inline constexpr int kReadTries = 5;

// Reads `bytes` bytes, or as many as there are before the end of the file. Throws Error "cannot be
// read: Input/output error, at byte 4096, in each of 5 tries"; the caller names the file. REQUIRES:
// nobody else uses the file meanwhile.
size_t ReadSteadily(std::FILE* file, void* out, size_t bytes);

}  // namespace tessera
#endif  // TESSERA_RUNTIME_FILES_STEADY_READ_H_
