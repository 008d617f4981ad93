#ifndef TESSERA_SERVE_HTTP_INFERENCE_SERVICE_H_
#define TESSERA_SERVE_HTTP_INFERENCE_SERVICE_H_
// Answers of the paths of http_server.h, without sockets: another way to carry requests (TLS, gRPC)
// calls the same.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "serve/http/access_log.h"
#include "serve/http/http_message.h"
#include "serve/request_queue.h"
#include "serve/versions/model_versions.h"

namespace tessera::serve {

struct InferenceServiceOptions {
  bool admin = false;     // whether models may be loaded, and deltas taken, by a request
  int large_workers = 2;  // threads that read and write large bodies
  RequestQueueOptions queue = {};
  const AccessLog* access_log = nullptr;  // whose losses metrics show
  int warm_up = 0;                        // rows that WarmUp answers
  // Is called as HttpServerOptions::took_up is.
  std::function<void(const ModelVersions&)> took_up = [](const ModelVersions&) {};
};

class InferenceService {
 public:
  // The models, of different names, must outlive it.
  InferenceService(const std::vector<ModelVersions*>& models, InferenceServiceOptions options);
  // Answers the requests that are there first.
  ~InferenceService();

  // Lets this thread and all workers do once what requests will ask of them (service_warm_up.h).
  void WarmUp();

  // Calls `reply` once, in this call or later, by this thread or another. Returns soon: what takes
  // long is left to others. Throws nothing.
  void Answer(HttpRequest request, HttpReply reply) noexcept;

  // Counts an answer of 400 or more, whoever made it, for /metrics. Its carrier calls this once for
  // each, those of Answer among them. Any thread may.
  void CountError(int status);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_HTTP_INFERENCE_SERVICE_H_
