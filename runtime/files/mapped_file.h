#ifndef TESSERA_RUNTIME_FILES_MAPPED_FILE_H_
#define TESSERA_RUNTIME_FILES_MAPPED_FILE_H_
// A file mapped into memory: nothing is read before it is used, and processes that map one file
// share it. It may be unlinked or renamed meanwhile, not, where it was opened to be read, written;
// what is read of one that was cut is zeros, and CheckMapping (mapping_faults.h) says so. Any
// thread may read.
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace tessera {

class MappedFile {
 public:
  // Maps a file for reading. One that is `watched` stays open, for CheckMappedFile. Throws Error,
  // naming the file, for one that cannot be read.
  explicit MappedFile(const std::string& path, bool watched = false);
  // A new file of `bytes` zeros, to be written and read. Throws Error when it can't be made.
  static MappedFile Create(const std::string& path, int64_t bytes);

  const std::string& path() const { return path_; }
  int64_t bytes() const { return bytes_; }
  const char* data() const { return static_cast<const char*>(data_.get()); }
  // All of it as a row of T. REQUIRES: made by Create.
  template <typename T>
  std::span<T> Writable() const {
    return {static_cast<T*>(data_.get()), static_cast<size_t>(bytes_) / sizeof(T)};
  }
  // An owner that keeps the file mapped.
  std::shared_ptr<void> owner() const { return data_; }

 private:
  enum class Use { kRead, kWatched, kWritten };
  MappedFile(const std::string& path, int file, int64_t bytes, Use use);

  std::string path_;
  int64_t bytes_ = 0;
  std::shared_ptr<void> data_;  // null for a file without bytes
};

}  // namespace tessera
#endif  // TESSERA_RUNTIME_FILES_MAPPED_FILE_H_
