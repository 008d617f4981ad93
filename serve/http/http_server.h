#ifndef TESSERA_SERVE_HTTP_HTTP_SERVER_H_
#define TESSERA_SERVE_HTTP_HTTP_SERVER_H_
// Models behind HTTP:
//
//   GET  /v2  /v2/models/NAME                          metadata
//   GET  /v2/health/live  /v2/health/ready  /v2/models/NAME/ready
//   GET  /v2/models/NAME/config  /v2/models/NAME/stats  /v2/models/stats  /v2/repository/index
//                                                      Triton's (repository_protocol.h); the index
//                                                      by POST, too
//   POST /v2/models/NAME/infer                         see inference_protocol.h
//   POST /v2/repository/models/NAME/load               the model directory as it is now; one that
//                                                      reads other inputs is refused, unless the
//                                                      body says {"parameters": {"new_inputs":
//                                                      true}}
//   POST /v2/repository/models/NAME/deltas             the deltas that lie beside it by now, as
//                                                      {"taken": how many, "model_version"}
//   GET  /metrics                                      see server_metrics.h
//
// NAME may be followed by /versions/V where V is a version that is served. The version that an
// answer comes from is in it (JSON), and in its header Tessera-Model-Version; Tessera-Model-Digest
// tells contents apart that had one version number. Errors are {"error": what}: 400 for a request
// that makes no sense, 403 for load and deltas without `admin`, 404 for another model or path, 405
// for another method, 408 for a request that comes too slowly, 413 for a body beyond max_body, 415
// for another content type or encoding of the body, 417 for an Expect that is not 100-continue, 431
// for too long a head, 500 for scores that are not finite, 503 where too many requests or
// connections are there or memory ran out, 504 where a request waited too long. There is no TLS and
// no authentication: beyond localhost, put a proxy in front.
//
// Connections hold no thread (Boost.Beast on Asio): a few threads move the bytes of all, the
// queue's workers compute, and others read large bodies and take models, so that a client that says
// nothing, or little at a time, costs a few kilobytes until its time has passed.
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "serve/http/access_log.h"
#include "serve/http/connection_limits.h"
#include "serve/request_queue.h"
#include "serve/versions/model_versions.h"

namespace tessera::serve {

struct HttpServerOptions {
  std::string host = "127.0.0.1";
  int port = 8000;                   // 0: any free one
  std::string model_name = "model";  // of a predictor alone
  bool admin = false;                // whether requests may load the model and take deltas
  int io_threads = 2;                // that move bytes
  ConnectionLimits limits = {};
  std::chrono::milliseconds drain_time{5'000};  // that requests which have begun get after Stop
  RequestQueueOptions queue = {};
  int warm_up = 0;                  // made-up rows that each thread answers before Run serves
  AccessLog* access_log = nullptr;  // of all requests; it must outlive the server
  // Is called after a request has loaded a model or taken deltas, before it is answered. Not empty.
  std::function<void(const ModelVersions&)> took_up = [](const ModelVersions&) {};
};

class HttpServer {
 public:
  // Listens from here on; requests are answered by Run. The models, of different names, must
  // outlive it. Throws Error for an address that can't be listened on, for one that another
  // server listens on, and where one of its threads cannot begin.
  HttpServer(const std::vector<ModelVersions*>& models, HttpServerOptions options);
  // A model directory, by the name of the options.
  HttpServer(Predictor& predictor, HttpServerOptions options);
  ~HttpServer();

  int port() const;
  // Answers requests until Stop, which any thread may call; then those that have begun, for
  // drain_time at most.
  void Run();
  void Stop();

 private:
  class Impl;
  std::unique_ptr<ModelVersions> own_;  // of a predictor alone
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_HTTP_HTTP_SERVER_H_
