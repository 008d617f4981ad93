#ifndef TESSERA_RUNTIME_FILES_ATOMIC_FILE_H_
#define TESSERA_RUNTIME_FILES_ATOMIC_FILE_H_
// A file that takes its name when it is whole: it is written as `<path>.<pid>-<random>.tmp` beside
// `path`, a name that no other writer has, synced, renamed, and its folder is synced. Of two
// writers of one path the later rename counts; neither's bytes get into the other's file.
//
// A stream is added to. A link's target is replaced or made, not the link. One thread at a time.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace tessera {

// Whether somebody reads along what is written there, so that another file in its place would not
// reach him, and nothing of it is lost: a pipe, a terminal, /dev/stdout wherever it goes.
bool IsStream(const std::string& path);

// The file that is written where `path` is an output: what its links end at, which may not be
// there, or the path itself. Throws Error, naming both, for a link into a folder that is not there,
// and for links in a circle.
std::string WrittenPath(const std::string& path);

class AtomicFile {
 public:
  // Throws Error, naming the path, when it cannot be written.
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();  // without Commit nothing is left behind
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  const std::string& path() const { return path_; }
  // For reading, too, unless it is a stream.
  std::FILE* stream() const { return file_.get(); }

  // Throws Error when it can't.
  void Write(const void* bytes, int64_t count);
  // Goes back to the first byte, to write over it. Throws Error when what was written can't be.
  void Rewind();
  // Makes what was written outlast a loss of power: Rename then takes no time. Throws Error when
  // that fails.
  void Sync();
  // Removes what Rename would replace. Throws Error when that fails.
  void RemoveReplaced();
  // Gives the file its name: it exists from now on. Throws Error when that fails.
  void Rename();
  // Rename, and what makes it outlast a loss of power. Throws Error as Rename, and where the folder
  // cannot be synced: then the file is there nevertheless.
  void Commit();

 private:
  void Open();
  [[noreturn]] void Fail() const;

  std::string path_;    // as it was given
  std::string target_;  // what is replaced
  std::string beside_;  // empty for a stream
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

// Removes what writers that died have left in a folder: of the file `name`, or of every file. What
// a process still writes stays. Does not throw.
void RemoveLeftovers(const std::string& folder, const std::string& name = "") noexcept;

}  // namespace tessera
#endif  // TESSERA_RUNTIME_FILES_ATOMIC_FILE_H_
