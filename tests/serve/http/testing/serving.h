#ifndef TESSERA_TESTS_SERVE_HTTP_TESTING_SERVING_H_
#define TESSERA_TESTS_SERVE_HTTP_TESTING_SERVING_H_
// A server of a small model, named clicks, on a free port, while this lives.
#include <string>
#include <thread>
#include <utility>

#include "serve/http/http_server.h"
#include "tests/serve/http/testing/http_client.h"
#include "tests/serve/testing/small_model.h"

namespace tessera::testing {

class Serving {
 public:
  explicit Serving(const std::string& name, serve::HttpServerOptions options = {.admin = true})
      : small_(MakeSmallModel(name + ".safetensors")),
        predictor_(WriteSmallModel(small_, name)),
        server_(predictor_, OnAnyPort(std::move(options))),
        thread_([this] { server_.Run(); }),
        client_(server_.port()) {}
  ~Serving() { Stop(); }

  // Returns when the server has ended.
  void Stop() {
    server_.Stop();
    if (thread_.joinable()) thread_.join();
  }
  HttpClient& client() { return client_; }
  serve::Predictor& predictor() { return predictor_; }
  int port() const { return server_.port(); }

 private:
  static serve::HttpServerOptions OnAnyPort(serve::HttpServerOptions options) {
    options.port = 0;
    options.model_name = "clicks";
    options.queue.deadline = std::chrono::minutes(10);  // machines of tests are busy
    return options;
  }

  const SmallModel small_;
  serve::Predictor predictor_;
  serve::HttpServer server_;
  std::thread thread_;
  HttpClient client_;
};

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_SERVE_HTTP_TESTING_SERVING_H_
