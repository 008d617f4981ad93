#ifndef TESSERA_SERVE_HTTP_BODY_ENCODING_H_
#define TESSERA_SERVE_HTTP_BODY_ENCODING_H_
// Encoded bodies (Content-Encoding): gzip (RFC 1952) and deflate (RFC 1950, a zlib stream) of
// requests, gzip of answers.
#include <zlib.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tessera::serve::internal {

enum class BodyEncoding { kIdentity, kGzip, kDeflate };

// "gzip", "x-gzip", "deflate", "identity" or "", in any case; nothing for another one.
std::optional<BodyEncoding> ParseBodyEncoding(std::string_view name);

// Throws HttpError 400 for a body that came without Content-Encoding but is gzip data.
void CheckIsNotEncoded(std::string_view body);

// Decodes a body step by step, so that a small one that becomes a large one holds no thread.
class BodyDecoder {
 public:
  // `most`: bytes that it may become, of which none is taken beyond them. REQUIRES: not kIdentity.
  BodyDecoder(BodyEncoding encoding, std::string encoded, size_t most);

  // Goes on for kStep bytes; true when all is decoded. Throws HttpError: 413 for a body that
  // becomes larger than `most`, 400 for one that is damaged, cut short, or has bytes behind it.
  bool Step();
  // Bytes that are there so far, encoded ones too.
  size_t bytes() const { return encoded_.size() + decoded_.size(); }
  std::string Take() { return std::move(decoded_); }

 private:
  static constexpr size_t kStep = 256 << 10;

  size_t Left() const;  // encoded bytes that are not read yet
  size_t Room() const;  // bytes of the next step
  int Inflate(size_t room);

  const BodyEncoding encoding_;
  const std::string encoded_;
  const size_t most_;
  std::string decoded_;
  z_stream stream_ = {};
  std::unique_ptr<z_stream, int (*)(z_stream*)> end_;  // gives zlib's memory back
};

// Whether a client takes gzip, by its Accept-Encoding.
bool AcceptsGzip(std::string_view accept_encoding);

// Smaller answers are sent as they are: they fit a packet.
inline constexpr size_t kSmallestEncoded = 1024;
// An answer's body as gzip; nothing where that is no smaller, or there is no memory.
std::optional<std::string> Gzip(const std::string& body);

}  // namespace tessera::serve::internal
#endif  // TESSERA_SERVE_HTTP_BODY_ENCODING_H_
