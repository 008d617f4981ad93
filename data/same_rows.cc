#include "data/same_rows.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/files/files.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// The files that say which rows these are: text itself, the index of a folder, or a day's npy and
// npz files.
std::vector<std::string> FilesOf(const std::string& name) {
  if (IsFolder(name)) return {PathIn(name, "index.json")};
  if (IsThere(name)) return {name};
  const std::string multi_hot = name + "_sparse_multi_hot.npz";
  return {name + "_labels.npy", name + "_dense.npy",
          IsThere(multi_hot) ? multi_hot : name + "_sparse.npy"};
}

class Bytes {
 public:
  explicit Bytes(const std::string& path) : file_(std::fopen(path.c_str(), "rb"), std::fclose) {
    if (file_ == nullptr) throw Error(Format("{}: cannot be read: {}", path, std::strerror(errno)));
  }
  // The next ones; fewer than asked for at the end.
  const std::vector<char>& Next() {
    piece_.resize(1 << 18);
    piece_.resize(std::fread(piece_.data(), 1, piece_.size(), file_.get()));
    return piece_;
  }

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::vector<char> piece_;
};

bool HaveSameBytes(const std::string& a, const std::string& b) {
  std::error_code error;
  if (fs::equivalent(a, b, error)) return true;
  const bool files = fs::is_regular_file(a, error) && fs::is_regular_file(b, error);
  if (!files || fs::file_size(a) != fs::file_size(b)) return false;
  Bytes left(a), right(b);
  for (;;) {
    const std::vector<char>&l = left.Next(), &r = right.Next();
    if (l != r) return false;
    if (l.empty()) return true;
  }
}

}  // namespace

bool AreSameRows(const std::string& a, const std::string& b) {
  const std::vector<std::string> left = FilesOf(a), right = FilesOf(b);
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), HaveSameBytes);
}

}  // namespace tessera
