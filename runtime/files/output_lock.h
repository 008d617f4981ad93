#ifndef TESSERA_RUNTIME_FILES_OUTPUT_LOCK_H_
#define TESSERA_RUNTIME_FILES_OUTPUT_LOCK_H_
// The right of one process to write a file, or the files of a folder. Who comes second is refused.
// The kernel releases it when the process ends, however it ends.
//
// It is an flock of the file `.<name>.lock` beside a file, or `.tessera.lock` inside of a folder,
// which says whose it is and goes with the lock; one that lies there after a kill is taken over.
// Where the file system has no locks, nobody is refused.
#include <string>

namespace tessera {

class OutputLock {
 public:
  enum class Of { kFile, kFolder };

  // A folder is made if it is not there. What dead writers have left of the file, or in the folder,
  // is removed. Throws Error, naming path and process, where another one has the lock, and where
  // none can be made.
  OutputLock(const std::string& path, Of of);
  ~OutputLock();  // a folder that was made and stayed empty is removed
  OutputLock(OutputLock&& other) noexcept;
  OutputLock& operator=(OutputLock&&) = delete;

 private:
  void Take(const std::string& path);
  bool TryTake(const std::string& path);
  void SayWhose() const;

  std::string lock_path_, made_folder_;
  int file_ = -1;
};

// "process 4711 on host", or "another process", where one has the lock; "" where nobody has it.
std::string LockHolder(const std::string& path, OutputLock::Of of);
// Whether a file of this name is a lock's.
bool IsLockName(const std::string& name);

}  // namespace tessera
#endif  // TESSERA_RUNTIME_FILES_OUTPUT_LOCK_H_
