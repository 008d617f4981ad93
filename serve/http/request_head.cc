#include "serve/http/request_head.h"

#include <algorithm>

#include "serve/http/body_encoding.h"
#include "serve/http/http_error.h"

namespace tessera::serve::internal {
namespace {

namespace http = boost::beast::http;
using boost::beast::iequals;
using http::field;

bool IsControl(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t') || byte == 0x7f;
}

void CheckLength(const http::request_header<>& head) {
  const auto lengths = head.count(field::content_length);
  const bool encoded = head.count(field::transfer_encoding) > 0;
  if (lengths > 1) throw HttpError(400, "the request has more than one Content-Length");
  if (lengths > 0 && encoded)
    throw HttpError(400, "the request has a Content-Length and a Transfer-Encoding");
  const auto length = head[field::content_length];
  if (!std::all_of(length.begin(), length.end(), [](char c) { return c >= '0' && c <= '9'; }))
    throw HttpError(400, "Content-Length: expected a number");
  if (encoded && (head.version() < 11 || head.count(field::transfer_encoding) > 1 ||
                  !iequals(head[field::transfer_encoding], "chunked")))
    throw HttpError(400, "Transfer-Encoding: expected chunked, once, in HTTP/1.1");
  const bool has_body = encoded || length.find_first_not_of('0') != length.npos;
  if (has_body && (head.method() == http::verb::get || head.method() == http::verb::head))
    throw HttpError(400, "a GET or HEAD request with a body");
}

void CheckBodyType(const http::request_header<>& head) {
  const auto encoding = head[field::content_encoding];
  if (head.count(field::content_encoding) > 1 ||
      !ParseBodyEncoding({encoding.data(), encoding.size()}))
    throw HttpError(415, Format("Content-Encoding {}: expected one of gzip, deflate and identity",
                                std::string(encoding.substr(0, 40))));
  if (iequals(head[field::content_type].substr(0, 10), "multipart/"))
    throw HttpError(415, "expected JSON or safetensors");
}

}  // namespace

size_t HeadScanner::Scan(std::string_view bytes) {
  while (next_ < bytes.size()) {
    const char c = bytes[next_];
    if (c == '\r') {
      if (next_ + 1 == bytes.size()) return 0;
      if (bytes[next_ + 1] != '\n') throw HttpError(400, "a CR without LF in the request's head");
      next_ += 2;
      if (next_ == 2) throw HttpError(400, "an empty line where a request was expected");
      if (at_line_begin_) return next_;
      at_line_begin_ = true;
      continue;
    }
    if (c == '\n') throw HttpError(400, "a line of the request's head does not end in CR LF");
    if (IsControl(c)) throw HttpError(400, "a control character in the request's head");
    if (at_line_begin_ && (c == ' ' || c == '\t'))
      throw HttpError(400, "a field of the request's head goes on in the next line");
    at_line_begin_ = false;
    ++next_;
  }
  return 0;
}

void CheckHead(const http::request_header<>& head) {
  CheckLength(head);
  CheckBodyType(head);
  if (head.target().substr(0, 1) != "/") throw HttpError(400, "expected a path that begins with /");
  const auto hosts = head.count(field::host);
  if (hosts > 1 || (hosts == 0 && head.version() >= 11))
    throw HttpError(400, Format("expected one Host, got {}", hosts));
  if (head.count(field::expect) > 0 && !iequals(head[field::expect], "100-continue"))
    throw HttpError(417, "Expect: there is only 100-continue");
}

}  // namespace tessera::serve::internal
