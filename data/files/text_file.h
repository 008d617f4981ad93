#ifndef TESSERA_DATA_FILES_TEXT_FILE_H_
#define TESSERA_DATA_FILES_TEXT_FILE_H_
// The bytes of one file that is plain, gzip or zstd (by its first bytes, or a name that ends with
// .gz or .zst), read in order. A gzip file has one or more members (RFC 1952), which may be padded
// with zeros at the end, a zstd file one or more frames (RFC 8878), of which skippable ones, as
// pzstd writes them, have no text; all of them are read.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

class TextFile {
 public:
  // Throws Error naming the file when it cannot be opened, or is a directory. Reads nothing yet.
  explicit TextFile(const std::string& path);
  ~TextFile();
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  // Writes up to `bytes` bytes of text to `out`; returns how many, 0 at the end. Throws Error with
  // the file and the byte where it broke, for a member that is damaged, cut short, or no member at
  // all.
  size_t Read(char* out, size_t bytes);

  // Whether text is given as it lies. Reads the first bytes.
  bool IsPlain();
  int64_t bytes() const { return bytes_; }         // of the file as it lies on disk
  bool is_regular() const { return is_regular_; }  // else, as of a pipe, nobody knows its bytes
  // How many of these have been read and used.
  int64_t offset() const { return read_ - static_cast<int64_t>(end_ - begin_); }

 private:
  struct Inflater;
  struct Unzstd;
  struct Close {
    void operator()(FILE* file) const { std::fclose(file); }
  };

  size_t ReadFile(void* out, size_t bytes);
  bool Fill();
  bool BeginMember();
  void Detect();
  size_t Inflate(char* out, size_t bytes);
  size_t Decompress(char* out, size_t bytes);
  size_t Copy(char* out, size_t bytes);
  [[noreturn]] void Throw(const std::string& what) const;

  const std::string path_;
  std::unique_ptr<FILE, Close> file_;
  std::vector<unsigned char> input_;
  size_t begin_ = 0, end_ = 0;  // bytes of input_ not yet used
  int64_t bytes_ = 0, read_ = 0;
  bool is_regular_ = true;
  std::unique_ptr<Inflater> inflater_;  // of gzip
  std::unique_ptr<Unzstd> unzstd_;      // of zstd
  int64_t members_ = 0;
  bool in_member_ = false;
};

// The bytes of all files as they lie on disk; absent where one of them is a pipe. Throws Error as
// TextFile.
std::optional<int64_t> BytesOnDisk(const std::vector<std::string>& paths);

}  // namespace tessera
#endif  // TESSERA_DATA_FILES_TEXT_FILE_H_
