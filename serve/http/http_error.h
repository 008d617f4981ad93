#ifndef TESSERA_SERVE_HTTP_HTTP_ERROR_H_
#define TESSERA_SERVE_HTTP_HTTP_ERROR_H_
// An error of a request, as its client may read it.
#include <exception>
#include <string>

#include "runtime/base/check.h"
#include "serve/http/http_message.h"

namespace tessera::serve {

// An answer other than 200.
class HttpError : public Error {
 public:
  // allow: HttpResponse::allow.
  HttpError(int status, const std::string& what, std::string allow = "")
      : Error(what), status_(status), allow_(std::move(allow)) {}
  int status() const { return status_; }
  const std::string& allow() const { return allow_; }

 private:
  int status_;
  std::string allow_;
};

// {"error": what} for an exception: 400 for an Error, 503 for a full queue and for memory that ran
// out, 504 for a deadline, 500 for a model whose files are broken and for what nobody expected. No
// place in our source, nothing of a request but printable ASCII, not more than 500 bytes.
HttpResponse ErrorResponse(const std::exception& error);

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_HTTP_HTTP_ERROR_H_
