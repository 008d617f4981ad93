#ifndef TESSERA_SERVE_HTTP_REQUEST_HEAD_H_
#define TESSERA_SERVE_HTTP_REQUEST_HEAD_H_
// Checks a request's head (its first line and its fields) more strictly than Beast's parser, so
// that the server and a proxy before it see the same requests.
#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>
#include <string_view>

namespace tessera::serve::internal {

// Looks for the end of a head in bytes that come piece by piece; each byte is looked at once.
class HeadScanner {
 public:
  // The bytes of the head with the empty line behind it, 0 while it goes on. `bytes` begin as those
  // of the call before. Throws HttpError (400) for line ends other than CR LF, a field that goes on
  // in the next line, and control characters.
  size_t Scan(std::string_view bytes);

 private:
  size_t next_ = 0;
  bool at_line_begin_ = true;
};

// Throws HttpError: 400 for a body length that is said twice or in two ways, a body on GET or HEAD,
// an encoding of the transfer other than chunked, a missing or second Host, and a target that is no
// path; 415 for a body encoded in another way than body_encoding.h has, and for multipart
// bodies; 417 for an Expect that is not 100-continue.
void CheckHead(const boost::beast::http::request_header<>& head);

}  // namespace tessera::serve::internal
#endif  // TESSERA_SERVE_HTTP_REQUEST_HEAD_H_
