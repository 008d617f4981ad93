#include "serve/http/body_encoding.h"

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <new>
#include <utility>

#include "serve/http/http_error.h"

namespace tessera::serve::internal {
namespace {

constexpr int kWindow = 15, kGzipFormat = 16;  // zlib's window bits
constexpr int kMemory = 8;                     // zlib's default
constexpr size_t kMaxInput = 1 << 30;          // zlib counts bytes in 32 bits
constexpr size_t kUsualRatio = 8;

// zlib reads through pointers to what is not const.
Bytef* BytesOf(const void* bytes) { return static_cast<Bytef*>(const_cast<void*>(bytes)); }

// Letters may be large or small.
bool IsWord(std::string_view text, const char* word) {
  return boost::beast::iequals({text.data(), text.size()}, word);
}

std::string_view Trimmed(std::string_view text) {
  constexpr char kSpaces[] = " \t";
  const size_t begin = std::min(text.find_first_not_of(kSpaces), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(kSpaces) + 1);
}

bool IsGzip(std::string_view name) { return IsWord(name, "gzip") || IsWord(name, "x-gzip"); }

// Whether parameters such as "q=0.000" say no.
bool IsRefused(std::string_view parameters) {
  const std::string_view text = Trimmed(parameters);
  if (text.size() < 2 || !IsWord(text.substr(0, 2), "q=")) return false;
  return text.substr(2).find_first_not_of("0.") == text.npos;
}

}  // namespace

std::optional<BodyEncoding> ParseBodyEncoding(std::string_view name) {
  if (name.empty() || IsWord(name, "identity")) return BodyEncoding::kIdentity;
  if (IsGzip(name)) return BodyEncoding::kGzip;
  if (IsWord(name, "deflate")) return BodyEncoding::kDeflate;
  return {};
}

void CheckIsNotEncoded(std::string_view body) {
  constexpr std::string_view kGzipBegin = "\x1f\x8b\x08";  // RFC 1952, deflate inside
  constexpr size_t kHeader = 8;  // a safetensors body may begin so, with the length of its JSON
  if (!body.starts_with(kGzipBegin) || (body.size() > kHeader && body[kHeader] == '{')) return;
  throw HttpError(400, "the body is gzip data, but its head has no Content-Encoding: gzip");
}

BodyDecoder::BodyDecoder(BodyEncoding encoding, std::string encoded, size_t most)
    : encoding_(encoding), encoded_(std::move(encoded)), most_(most), end_(&stream_, inflateEnd) {
  const int window = kWindow + (encoding_ == BodyEncoding::kGzip ? kGzipFormat : 0);
  if (inflateInit2(&stream_, window) != Z_OK) throw std::bad_alloc();
  stream_.next_in = BytesOf(encoded_.data());
}

size_t BodyDecoder::Left() const {
  return encoded_.size() - static_cast<size_t>(BytesOf(stream_.next_in) - BytesOf(encoded_.data()));
}

size_t BodyDecoder::Room() const {
  // Most bodies become a few times as large: a small one takes one step in a small memory.
  const size_t first = std::min(kStep, kUsualRatio * encoded_.size() + kSmallestEncoded);
  return std::min(decoded_.empty() ? first : kStep, most_ - decoded_.size());
}

int BodyDecoder::Inflate(size_t room) {
  const size_t before = decoded_.size();
  // All that may come is reserved at once: growing by halves would take more than `most`. Memory
  // that is not touched costs nothing.
  if (before > 0) decoded_.reserve(most_);
  decoded_.resize(before + room);
  stream_.next_out = BytesOf(decoded_.data() + before);
  stream_.avail_out = static_cast<uInt>(room);
  stream_.avail_in = static_cast<uInt>(std::min(Left(), kMaxInput));
  const int code = inflate(&stream_, Z_NO_FLUSH);
  decoded_.resize(before + room - stream_.avail_out);
  return code;
}

bool BodyDecoder::Step() {
  const char* const name = encoding_ == BodyEncoding::kGzip ? "gzip" : "deflate";
  const size_t room = Room();  // 0: only the end of the data may follow
  const int code = Inflate(room);
  if (code == Z_MEM_ERROR) throw std::bad_alloc();
  if (code == Z_STREAM_END) {
    if (Left() == 0) return true;
    // RFC 1952 lets gzip data be several members, one after another.
    constexpr Bytef kFirstOfMember = 0x1f;
    if (encoding_ == BodyEncoding::kGzip && *stream_.next_in == kFirstOfMember &&
        inflateReset(&stream_) == Z_OK)
      return false;
    throw HttpError(400, Format("{} bytes follow the end of the body's {} data", Left(), name));
  }
  if (code != Z_OK && code != Z_BUF_ERROR)
    throw HttpError(400, Format("the body is not valid {}: {}", name,
                                stream_.msg != nullptr ? stream_.msg : "it is damaged"));
  if (Left() == 0 && stream_.avail_out > 0)
    throw HttpError(400, Format("the body's {} data are cut short", name));
  if (room == 0)
    throw HttpError(413,
                    Format("the body has more than {} bytes once its {} is decoded", most_, name));
  return false;
}

bool AcceptsGzip(std::string_view accept_encoding) {
  bool any = false;  // by "*"
  while (!accept_encoding.empty()) {
    const std::string_view part = accept_encoding.substr(0, accept_encoding.find(','));
    accept_encoding.remove_prefix(std::min(part.size() + 1, accept_encoding.size()));
    const size_t semicolon = std::min(part.find(';'), part.size());
    const std::string_view name = Trimmed(part.substr(0, semicolon));
    const bool taken = !IsRefused(part.substr(std::min(semicolon + 1, part.size())));
    if (IsGzip(name)) return taken;
    if (name == "*") any = taken;
  }
  return any;
}

std::optional<std::string> Gzip(const std::string& body) {
  z_stream stream = {};
  if (body.size() > kMaxInput) return {};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kWindow + kGzipFormat, kMemory,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    return {};
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, deflateEnd);
  std::string encoded(body.size(), '\0');
  stream.next_in = BytesOf(body.data());
  stream.avail_in = static_cast<uInt>(body.size());
  stream.next_out = BytesOf(encoded.data());
  stream.avail_out = static_cast<uInt>(encoded.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) return {};
  encoded.resize(encoded.size() - stream.avail_out);
  return encoded;
}

}  // namespace tessera::serve::internal
