#include "runtime/files/output_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/files.h"
#include "runtime/files/unfinished_paths.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr char kFolderLock[] = ".tessera.lock";

// This process, as others are told: "4711 on host".
std::string WhoThisIs() {
  char host[256] = "this host";
  gethostname(host, sizeof host - 1);
  return Format("{} on {}", getpid(), static_cast<const char*>(host));
}

std::string ReadHolder(int file) {
  char text[512];
  const ssize_t count = pread(file, text, sizeof text, 0);
  return std::string(text, static_cast<size_t>(count > 0 ? count : 0));
}

std::string Named(const std::string& holder) {
  return holder.empty() ? "another process" : "process " + holder;
}

[[noreturn]] void ThrowHeld(const std::string& path, const std::string& holder) {
  if (holder == WhoThisIs())
    throw Error(Format("{}: this command is told to write it twice", path));
  throw Error(Format("{}: {} is writing it; wait until it ends, or name another path", path,
                     Named(holder)));
}

std::string LockPath(const std::string& path, OutputLock::Of of) {
  if (of == OutputLock::Of::kFolder) return PathIn(path, kFolderLock);
  const std::string written = WrittenPath(path);
  return PathIn(FolderOf(written), "." + fs::path(written).filename().string() + ".lock");
}

// Whether the path still names the open file: its last holder may have removed it.
bool IsStillThere(int file, const std::string& path) {
  struct stat opened, named;
  return fstat(file, &opened) == 0 && stat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

std::string MakeFolder(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return "";
  if (fs::is_symlink(path, error))
    throw Error(Format("{}: cannot be made a folder: it is a link to {}, where there is none", path,
                       fs::read_symlink(path, error).string()));
  fs::create_directories(path, error);
  if (error || !fs::is_directory(path))
    throw Error(Format("{}: cannot be made a folder: {}", path,
                       error ? error.message() : "there is a file of that name"));
  return path;
}

}  // namespace

OutputLock::OutputLock(const std::string& path, Of of) {
  if (of == Of::kFolder) made_folder_ = MakeFolder(path);
  lock_path_ = LockPath(path, of);
  Take(path);
  internal::AddUnfinished(lock_path_);
  if (!made_folder_.empty()) internal::AddUnfinished(made_folder_);
  if (of == Of::kFolder) {
    RemoveLeftovers(path);
  } else {
    const std::string written = WrittenPath(path);
    RemoveLeftovers(FolderOf(written), fs::path(written).filename().string());
  }
}

OutputLock::OutputLock(OutputLock&& other) noexcept
    : lock_path_(std::move(other.lock_path_)),
      made_folder_(std::move(other.made_folder_)),
      file_(std::exchange(other.file_, -1)) {}

OutputLock::~OutputLock() {
  if (file_ < 0) return;
  unlink(lock_path_.c_str());
  close(file_);
  if (!made_folder_.empty()) rmdir(made_folder_.c_str());
  for (const std::string& path : {lock_path_, made_folder_}) internal::DropUnfinished(path);
}

void OutputLock::Take(const std::string& path) {
  while (!TryTake(path)) {
  }
  SayWhose();
}

// False if the path now names another file than the locked one.
bool OutputLock::TryTake(const std::string& path) {
  file_ = open(lock_path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0)
    throw Error(Format("{}: cannot be written: {}: {}", path, lock_path_, std::strerror(errno)));
  if (flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    const std::string holder = ReadHolder(file_);
    close(std::exchange(file_, -1));
    ThrowHeld(path, holder);
  }
  if (IsStillThere(file_, lock_path_)) return true;
  close(std::exchange(file_, -1));
  return false;
}

// Writes down who holds the lock, for the message to others. They are refused without it, too.
void OutputLock::SayWhose() const {
  const std::string text = WhoThisIs();
  if (ftruncate(file_, 0) == 0 && pwrite(file_, text.data(), text.size(), 0) < 0) return;
}

std::string LockHolder(const std::string& path, OutputLock::Of of) {
  const int file = open(LockPath(path, of).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return "";
  const bool held = flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  const std::string holder = held ? Named(ReadHolder(file)) : "";
  close(file);
  return holder;
}

bool IsLockName(const std::string& name) {
  return name.starts_with('.') && name.ends_with(".lock");
}

}  // namespace tessera
