// The head of an HTTP request, and its body behind it, as a connection reads them: the first byte
// says in pieces of how many bytes they come.
#include <algorithm>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "serve/http/request_head.h"
#include "serve/http/request_path.h"
#include "tests/fuzz/fuzz.h"

namespace tessera::fuzz {
namespace {

namespace http = boost::beast::http;

constexpr size_t kMaxBody = 1000;

size_t ScanInPieces(std::string_view bytes, size_t piece) {
  serve::internal::HeadScanner scanner;
  for (size_t come = 0; come < bytes.size();) {
    come = std::min(come + piece, bytes.size());
    if (const size_t head = scanner.Scan(bytes.substr(0, come)); head > 0) return head;
  }
  return 0;
}

void Read(std::string_view bytes, size_t piece) {
  const size_t head = ScanInPieces(bytes, piece);
  if (head == 0) return;
  if (head > bytes.size() || !bytes.substr(0, head).ends_with("\r\n\r\n")) __builtin_trap();
  http::request_parser<http::string_body> parser;
  parser.body_limit(kMaxBody);
  boost::system::error_code error;
  parser.put(boost::asio::buffer(bytes.data(), head), error);
  if (!parser.is_header_done()) return;
  serve::internal::CheckHead(parser.get());
  serve::PathParts({parser.get().target().data(), parser.get().target().size()});
  parser.eager(true);
  for (std::string_view rest = bytes.substr(head); !parser.is_done() && !rest.empty();) {
    const size_t used = parser.put(boost::asio::buffer(rest.data(), rest.size()), error);
    rest.remove_prefix(used);
    if ((error && error != http::error::need_more) || used == 0) break;
  }
  if (parser.get().body().size() > kMaxBody) __builtin_trap();
}

}  // namespace

std::vector<std::string> Seeds() {
  return {"\x07GET /v2/models/a%20b?x HTTP/1.1\r\nHost: x\r\n\r\n",
          "\x01POST /v2 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Type: a/b\r\n\r\nabc",
          "\x20POST /v2 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
          "3;a=b\r\nabc\r\n0\r\nA: b\r\n\r\n"};
}

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  if (size == 0) return 0;
  fuzz::MayRefuse([&] { fuzz::Read(fuzz::AsText(data + 1, size - 1), 1u + data[0]); });
  return 0;
}
