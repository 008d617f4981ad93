#include "data/files/text_file.h"

#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "runtime/base/check.h"
#include "runtime/files/steady_read.h"

namespace tessera {
namespace {

constexpr size_t kInputBytes = 1 << 17;
constexpr int kGzip = 15 + 16;  // zlib's window bits for the gzip format alone

// Whether a zstd frame begins here, or a skippable one (RFC 8878, 3.1).
bool BeginsZstd(const unsigned char* bytes, size_t count) {
  if (count < 4) return false;
  const uint32_t magic = bytes[0] | bytes[1] << 8 | bytes[2] << 16 | uint32_t{bytes[3]} << 24;
  return magic == ZSTD_MAGICNUMBER ||
         (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
}

}  // namespace

struct TextFile::Inflater {
  Inflater() {
    if (inflateInit2(&stream, kGzip) != Z_OK) throw Error("zlib: out of memory");
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream stream = {};
};

struct TextFile::Unzstd {
  Unzstd() : stream(ZSTD_createDStream(), ZSTD_freeDStream) {
    if (stream == nullptr) throw Error("zstd: out of memory");
  }

  std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream;
  bool in_frame = false;
};

TextFile::TextFile(const std::string& path)
    : path_(path), file_(std::fopen(path.c_str(), "rb")), input_(kInputBytes) {
  struct stat info;
  if (file_ == nullptr || fstat(fileno(file_.get()), &info) != 0)
    throw Error(Format("{}: cannot be read: {}", path_, std::strerror(errno)));
  if (S_ISDIR(info.st_mode)) throw Error(Format("{}: cannot be read: it is a directory", path_));
  bytes_ = static_cast<int64_t>(info.st_size);
  is_regular_ = S_ISREG(info.st_mode);
}

TextFile::~TextFile() = default;

void TextFile::Throw(const std::string& what) const {
  throw Error(Format("{}: cannot be read to its end: {} (at byte {} of {})", path_, what, offset(),
                     bytes_));
}

// Bytes of the file as they lie; 0 at its end.
size_t TextFile::ReadFile(void* out, size_t bytes) {
  try {
    const size_t count = ReadSteadily(file_.get(), out, bytes);
    read_ += static_cast<int64_t>(count);
    return count;
  } catch (const Error& error) {
    throw Error(Format("{}: {}", path_, error.what()));
  }
}

// More input, when all of it was used; false at the end of the file.
bool TextFile::Fill() {
  if (begin_ < end_) return true;
  begin_ = 0;
  end_ = ReadFile(input_.data(), input_.size());
  return end_ > 0;
}

// Starts the next member; false at the end, which may be padded with zeros. Whether what begins
// here is a member zlib finds out.
bool TextFile::BeginMember() {
  if (!Fill()) return false;
  if (members_ > 0 && input_[begin_] == 0) {
    do {
      while (begin_ < end_ && input_[begin_] == 0) ++begin_;
    } while (begin_ == end_ && Fill());
    if (begin_ == end_) return false;
    Throw("after the zeros that pad its end come other bytes");
  }
  ++members_;
  in_member_ = true;
  inflateReset(&inflater_->stream);
  return true;
}

size_t TextFile::Inflate(char* out, size_t bytes) {
  z_stream& stream = inflater_->stream;
  stream.next_out = reinterpret_cast<Bytef*>(out);
  stream.avail_out = static_cast<uInt>(std::min<size_t>(bytes, UINT32_MAX));
  const uInt asked = stream.avail_out;
  while (stream.avail_out == asked) {
    if (!in_member_ && !BeginMember()) break;
    if (!Fill()) Throw(Format("gzip member {} is cut short", members_));
    stream.next_in = input_.data() + begin_;
    stream.avail_in = static_cast<uInt>(end_ - begin_);
    const int code = inflate(&stream, Z_NO_FLUSH);
    begin_ = end_ - stream.avail_in;
    if (code == Z_STREAM_END)
      in_member_ = false;
    else if (code != Z_OK && code != Z_BUF_ERROR)
      Throw(Format("gzip member {}: {}", members_,
                   stream.msg == nullptr ? "it is damaged" : stream.msg));
  }
  return asked - stream.avail_out;
}

size_t TextFile::Copy(char* out, size_t bytes) {
  if (begin_ == end_ && bytes >= input_.size()) return ReadFile(out, bytes);
  if (!Fill()) return 0;
  const size_t count = std::min(bytes, end_ - begin_);
  std::memcpy(out, input_.data() + begin_, count);
  begin_ += count;
  return count;
}

size_t TextFile::Decompress(char* out, size_t bytes) {
  ZSTD_outBuffer output{out, bytes, 0};
  while (output.pos < bytes) {
    if (!Fill()) {
      if (unzstd_->in_frame) Throw("a zstd frame is cut short");
      break;
    }
    ZSTD_inBuffer input{input_.data() + begin_, end_ - begin_, 0};
    const size_t left = ZSTD_decompressStream(unzstd_->stream.get(), &output, &input);
    if (ZSTD_isError(left)) Throw(Format("zstd: {}", ZSTD_getErrorName(left)));
    begin_ += input.pos;
    unzstd_->in_frame = left > 0;
  }
  return output.pos;
}

void TextFile::Detect() {
  const bool begins_gzip = end_ >= 2 && input_[0] == 0x1f && input_[1] == 0x8b;
  if (begins_gzip || path_.ends_with(".gz"))
    inflater_ = std::make_unique<Inflater>();
  else if (BeginsZstd(input_.data(), end_) || path_.ends_with(".zst"))
    unzstd_ = std::make_unique<Unzstd>();
}

bool TextFile::IsPlain() {
  if (read_ == 0 && Fill()) Detect();
  return inflater_ == nullptr && unzstd_ == nullptr;
}

size_t TextFile::Read(char* out, size_t bytes) {
  if (read_ == 0 && Fill()) Detect();
  if (unzstd_ != nullptr) return Decompress(out, bytes);
  return inflater_ == nullptr ? Copy(out, bytes) : Inflate(out, bytes);
}

std::optional<int64_t> BytesOnDisk(const std::vector<std::string>& paths) {
  int64_t bytes = 0;
  bool is_known = true;
  for (const std::string& path : paths) {
    std::error_code none;  // where it cannot be known, the opening says why
    if (std::filesystem::is_fifo(path, none))
      return {};  // whoever opens and closes it ends its writer
    const TextFile file(path);
    bytes += file.bytes();
    is_known = is_known && file.is_regular();
  }
  return is_known ? std::optional(bytes) : std::nullopt;
}

}  // namespace tessera
