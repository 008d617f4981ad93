#include "runtime/files/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>
#include <string_view>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/files/files.h"
#include "runtime/files/unfinished_paths.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".tmp";
constexpr size_t kRandomDigits = 16;

std::string NameBeside(const std::string& target) {
  std::random_device random;
  const uint64_t number = static_cast<uint64_t>(random()) << 32 | random();
  return Format("{}.{}-{:016x}{}", target, getpid(), number, kSuffix);
}

bool AllOf(std::string_view text, std::string_view characters) {
  return !text.empty() && text.find_first_not_of(characters) == std::string_view::npos;
}

// The file that a name made by NameBeside is for; empty for other names.
std::string_view TargetOfName(std::string_view name) {
  if (!name.ends_with(kSuffix)) return {};
  name.remove_suffix(kSuffix.size());
  const size_t dot = name.rfind('.');
  const size_t dash = name.rfind('-');
  if (dot == std::string_view::npos || dash == std::string_view::npos || dash < dot) return {};
  const std::string_view digits = name.substr(dash + 1);
  const bool ours = AllOf(name.substr(dot + 1, dash - dot - 1), "0123456789") &&
                    digits.size() == kRandomDigits && AllOf(digits, "0123456789abcdef");
  return ours ? name.substr(0, dot) : std::string_view();
}

// Removes a file unless it is being written: its writer holds a lock, which ends with the process.
void RemoveUnlessWritten(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  if (flock(file, LOCK_EX | LOCK_NB) == 0) unlink(path.c_str());
  close(file);
}

}  // namespace

bool IsStream(const std::string& path) {
  for (const char* open : {"/dev/stdout", "/dev/stderr", "/dev/fd/"})
    if (path.starts_with(open)) return true;
  if (path.starts_with("/proc/") && path.find("/fd/") != std::string::npos) return true;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

std::string WrittenPath(const std::string& path) {
  constexpr int kMostLinks = 40;  // as the kernel follows
  std::error_code error;
  fs::path target = path;
  for (int links = 0; fs::is_symlink(target, error); ++links) {
    if (links == kMostLinks)
      throw Error(Format("{}: cannot be written: {}", path, std::strerror(ELOOP)));
    const fs::path next = fs::read_symlink(target, error);
    if (error) break;
    target = target.parent_path() / next;
  }
  const std::string folder = FolderOf(target.string());
  if (target != path && !fs::exists(folder, error) && !error)
    throw Error(Format("{}: cannot be written: it is a link to {}, but there is no folder {}", path,
                       target.string(), folder));
  return target.string();
}

AtomicFile::AtomicFile(const std::string& path) : path_(path), file_(nullptr, std::fclose) {
  if (IsStream(path)) {
    file_.reset(std::fopen(path.c_str(), "ab"));  // appends, as a shell's >> does
    if (file_ == nullptr) Fail();
    return;
  }
  target_ = WrittenPath(path);
  Open();
}

AtomicFile::~AtomicFile() {
  if (file_ == nullptr || beside_.empty()) return;
  unlink(beside_.c_str());
  internal::DropUnfinished(beside_);
}

void AtomicFile::Open() {
  int file = -1;
  do {
    beside_ = NameBeside(target_);
    internal::AddUnfinished(beside_);
    file = open(beside_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) internal::DropUnfinished(beside_);
  } while (file < 0 && errno == EEXIST);
  if (file < 0) Fail();
  flock(file, LOCK_EX | LOCK_NB);  // without locks, leftovers of others are removed late
  file_.reset(fdopen(file, "w+b"));
  if (file_ != nullptr) return;
  const int reason = errno;
  close(file);
  unlink(beside_.c_str());
  errno = reason;
  Fail();
}

void AtomicFile::Fail() const {
  throw Error(Format("{}: cannot be written: {}", path_, std::strerror(errno)));
}

void AtomicFile::Write(const void* bytes, int64_t count) {
  const auto size = static_cast<size_t>(count);
  if (size > 0 && std::fwrite(bytes, 1, size, file_.get()) != size) Fail();
}

void AtomicFile::Rewind() {
  if (std::fseek(file_.get(), 0, SEEK_SET) != 0) Fail();
}

void AtomicFile::Sync() {
  if (std::fflush(file_.get()) != 0) Fail();
  if (!beside_.empty() && fsync(fileno(file_.get())) != 0) Fail();
}

void AtomicFile::RemoveReplaced() {
  if (!beside_.empty() && unlink(target_.c_str()) != 0 && errno != ENOENT) Fail();
}

void AtomicFile::Rename() {
  Sync();
  if (!beside_.empty()) {
    if (std::rename(beside_.c_str(), target_.c_str()) != 0) Fail();
    internal::DropUnfinished(beside_);
  }
  file_.reset();
}

void AtomicFile::Commit() {
  Rename();
  if (!beside_.empty()) SyncFolder(FolderOf(target_));
}

void RemoveLeftovers(const std::string& folder, const std::string& name) noexcept try {
  std::vector<std::string> paths;
  for (const fs::directory_entry& file : fs::directory_iterator(folder)) {
    const std::string found = file.path().filename().string();
    const std::string_view target = TargetOfName(found);
    if (!target.empty() && (name.empty() || target == name)) paths.push_back(file.path().string());
  }
  for (const std::string& path : paths) RemoveUnlessWritten(path);
} catch (...) {
}

}  // namespace tessera
