#ifndef TESSERA_RUNTIME_FILES_MAPPING_FAULTS_H_
#define TESSERA_RUNTIME_FILES_MAPPING_FAULTS_H_
// Mapped files that were cut while they were in use, or whose disk fails: a read of what is gone
// ends a process by SIGBUS. While a mapping is guarded, such a read gives zeros, from there to the
// mapping's end, and is remembered; who has read asks afterwards, and throws away what it made of
// them. Any thread.
#include <cstdint>
#include <memory>
#include <string>

namespace tessera {

// An open file, closed at the end. It shows whether the file was cut, whatever becomes of its name.
class OpenedFile {
 public:
  explicit OpenedFile(int file, int64_t bytes) : file_(file), bytes_(bytes) {}
  ~OpenedFile();
  OpenedFile(const OpenedFile&) = delete;
  OpenedFile& operator=(const OpenedFile&) = delete;

  int number() const { return file_; }
  int64_t bytes() const { return bytes_; }  // when it was opened
  // Those that it has now; bytes() where nobody knows. Costs a system call.
  int64_t BytesNow() const;

 private:
  int file_;
  int64_t bytes_;
};

// Guards [begin, begin + bytes), mapped from the file `path`, until the result goes. Installs a
// handler of SIGBUS, once a process; faults elsewhere do what they did before. REQUIRES: begin is a
// page's. Without `file`, CheckMappedFile knows of faults alone.
std::shared_ptr<void> GuardMapping(void* begin, int64_t bytes, const std::string& path,
                                   std::shared_ptr<const OpenedFile> file);
// Where the guarded mapping begins that has this address; null without one.
const void* GuardedMappingOf(const void* address);

// Whether any guarded mapping has had a fault. Costs one load.
bool AnyMappingFaulted();

// Throws Error, naming the file, if the guarded mapping that has this address has had a fault.
void CheckMapping(const void* address);

// Throws Error, naming the file and its sizes, also if the file was cut since, with or without a
// fault: the last page that is left of it ends in zeros. Costs a system call.
void CheckMappedFile(const void* address);

}  // namespace tessera
#endif  // TESSERA_RUNTIME_FILES_MAPPING_FAULTS_H_
