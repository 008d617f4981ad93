#ifndef TESSERA_SERVE_HTTP_HTTP_SERVER_H_
#define TESSERA_SERVE_HTTP_HTTP_SERVER_H_
// A predictor behind HTTP:
//
//   GET  /v2  /v2/models/NAME                          metadata
//   GET  /v2/health/live  /v2/health/ready  /v2/models/NAME/ready
//   POST /v2/models/NAME/infer                         see inference_protocol.h
//   POST /v2/repository/models/NAME/load               the model directory as it is now
//   POST /v2/repository/models/NAME/deltas             the deltas that lie beside it by now, as
//                                                      {"taken": how many, "model_version"}
//   GET  /metrics                                      see server_metrics.h
//
// NAME may be followed by /versions/V where V is the version in use. The version that an answer
// comes from is in it (JSON), and in its header Tessera-Model-Version. Errors are {"error": what}:
// 400 for a request that makes no sense, 404 for another model or path, 413 for a body beyond
// max_body, 415 for another content type or an encoded body, 503 where too many requests wait, 504
// where one waited too long. There is no TLS and no authentication: beyond localhost, put a proxy
// in front.
#include <memory>
#include <string>

#include "serve/request_queue.h"

namespace tessera::serve {

struct HttpServerOptions {
  std::string host = "127.0.0.1";
  int port = 8000;  // 0: any free one
  std::string model_name = "model";
  size_t max_body = 16 << 20;  // bytes, decoded
  int connections = 32;        // served at the same time; the next ones wait
  RequestQueueOptions queue = {};
};

class HttpServer {
 public:
  // Listens from here on; requests are answered by Run. `predictor` must outlive it. Throws Error
  // for an address that can't be listened on.
  HttpServer(Predictor& predictor, HttpServerOptions options);
  ~HttpServer();

  int port() const;
  // Answers requests until Stop, which any thread may call; then those that have begun.
  void Run();
  void Stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_HTTP_HTTP_SERVER_H_
