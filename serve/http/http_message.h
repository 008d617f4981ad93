#ifndef TESSERA_SERVE_HTTP_HTTP_MESSAGE_H_
#define TESSERA_SERVE_HTTP_HTTP_MESSAGE_H_
// A request and its answer, whatever carried them: connection.h does so for HTTP/1.1.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "serve/http/inference_facts.h"

namespace tessera::serve {

inline constexpr char kJsonType[] = "application/json", kBytesType[] = "application/octet-stream";

struct HttpRequest {
  std::string method;  // "GET"; that of a HEAD is GET too
  std::string target;  // as it came, with its query
  std::string content_type;
  std::optional<std::string> json_bytes;  // Inference-Header-Content-Length
  std::string body;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = kJsonType;
  std::string body;
  std::optional<size_t> json_bytes = {};         // of the JSON before tensors, where these follow
  std::optional<int64_t> model_version = {};     // that the answer comes from
  std::string model_digest = {};                 // of that version
  std::string encoding = {};                     // of the body; "": none
  std::string allow = {};                        // with 405: the methods that the path takes
  std::optional<InferenceFacts> inference = {};  // of an answer to an inference
};

// Takes the answer; called once, by any thread. Throws nothing.
using HttpReply = std::function<void(HttpResponse)>;

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_HTTP_HTTP_MESSAGE_H_
