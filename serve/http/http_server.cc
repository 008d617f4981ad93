#include "serve/http/http_server.h"

#include <httplib.h>

#include <atomic>
#include <charconv>
#include <thread>

#include "serve/http/inference_protocol.h"
#include "serve/http/server_metrics.h"

namespace tessera::serve {
namespace {

constexpr char kJsonType[] = "application/json";
constexpr char kVersionHeader[] = "Tessera-Model-Version";
constexpr char kBinaryLengthHeader[] = "Inference-Header-Content-Length";
constexpr size_t kKeepAliveRequests = 1'000'000;

// An answer other than 200.
class HttpError : public Error {
 public:
  HttpError(int code, const std::string& what) : Error(what), code_(code) {}
  int code() const { return code_; }

 private:
  int code_;
};

// "…what (runtime/check.cc:12)": places in our source are none of a client's business.
std::string WithoutSource(std::string what) {
  for (size_t at; what.ends_with(')') && (at = what.rfind(" (")) != std::string::npos;) {
    const std::string place = what.substr(at);
    if (place.find(".cc:") == std::string::npos && place.find(".h:") == std::string::npos) break;
    what.resize(at);
  }
  return what;
}

int CodeOf(const std::exception& error) {
  if (const auto* http = dynamic_cast<const HttpError*>(&error)) return http->code();
  if (dynamic_cast<const QueueFull*>(&error) != nullptr) return 503;
  if (dynamic_cast<const DeadlinePassed*>(&error) != nullptr) return 504;
  return dynamic_cast<const Error*>(&error) != nullptr ? 400 : 500;
}

void Answer(httplib::Response& response, const std::string& json) {
  response.status = 200;
  response.set_content(json, kJsonType);
}

void AnswerError(httplib::Response& response, int code, const std::string& what) {
  response.status = code;
  response.set_content(ErrorJson(WithoutSource(what)), kJsonType);
}

std::string ReadBody(const httplib::Request& request, const httplib::Response& response,
                     const httplib::ContentReader& read, size_t most) {
  if (request.has_header("Content-Encoding") &&
      request.get_header_value("Content-Encoding") != "identity")
    throw HttpError(415, "the body is encoded; send it as it is");
  if (request.is_multipart_form_data()) throw HttpError(415, "expected JSON or safetensors");
  std::string body;
  bool too_long = false;
  const bool whole = read([&](const char* data, size_t count) {
    too_long = count > most - body.size();
    if (!too_long) body.append(data, count);
    return !too_long;
  });
  too_long = too_long || (!whole && response.status == 413);  // by its Content-Length
  if (too_long) throw HttpError(413, Format("the body has more than {} bytes", most));
  if (!whole) throw HttpError(400, "the body is incomplete");
  return body;
}

std::optional<size_t> BinaryLength(const httplib::Request& request) {
  if (!request.has_header(kBinaryLengthHeader)) return std::nullopt;
  const std::string text = request.get_header_value(kBinaryLengthHeader);
  size_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (error != std::errc() || end != text.data() + text.size())
    throw Error(Format("{}: expected a number, got '{}'", kBinaryLengthHeader, text));
  return length;
}

}  // namespace

class HttpServer::Impl {
 public:
  Impl(Predictor& predictor, HttpServerOptions options)
      : predictor_(predictor), options_(std::move(options)), queue_(predictor, options_.queue) {
    server_.new_task_queue = [this] {
      return new httplib::ThreadPool(static_cast<size_t>(options_.connections));
    };
    server_.set_tcp_nodelay(true);
    server_.set_keep_alive_max_count(kKeepAliveRequests);
    // Without it a body of more bytes would be read before it is refused.
    server_.set_payload_max_length(options_.max_body);
    AddRoutes();
    port_ = options_.port == 0 ? server_.bind_to_any_port(options_.host)
            : server_.bind_to_port(options_.host, options_.port) ? options_.port
                                                                 : -1;
    if (port_ < 0) throw Error(Format("cannot listen on {}:{}", options_.host, options_.port));
  }

  int port() const { return port_; }
  // httplib's stop does nothing before its loop runs.
  void Run() {
    run_begun_ = true;
    if (!stop_asked_) server_.listen_after_bind();
    run_ended_ = true;
  }
  void Stop() {
    stop_asked_ = true;
    while (run_begun_ && !run_ended_ && !server_.is_running()) std::this_thread::yield();
    server_.stop();
  }

 private:
  using Request = httplib::Request;
  using Response = httplib::Response;

  void AddRoutes() {
    const std::string model = R"(/v2/models/([^/]+)(?:/versions/([^/]+))?)";
    Get("/v2/health/live", [](auto&) { return std::string("{}"); });
    Get("/v2/health/ready", [](auto&) { return std::string("{}"); });
    Get("/v2", [](auto&) { return ServerMetadataJson(); });
    Get(model + "/ready", [this](auto& request) {
      CheckModel(request, predictor_.model()->spec().version);
      return std::string("{}");
    });
    Get(model, [this](auto& request) {
      const auto served = predictor_.model();
      CheckModel(request, served->spec().version);
      return ModelMetadataJson(options_.model_name, served->spec());
    });
    server_.Get("/metrics", [this](const Request&, Response& response) {
      response.set_content(
          metrics_.Text(*predictor_.model(), queue_.queued(), predictor_.delta_counts()),
          "text/plain; version=0.0.4");
    });
    server_.Post(model + "/infer",
                 [this](const Request& request, Response& response,
                        const httplib::ContentReader& read) { Infer(request, response, read); });
    server_.Post("/v2/repository/models/([^/]+)/load",
                 [this](const Request& request, Response& response) { Load(request, response); });
    server_.Post("/v2/repository/models/([^/]+)/deltas",
                 [this](const Request& request, Response& response) { Take(request, response); });
    server_.set_error_handler([](const Request&, Response& response) {
      if (response.body.empty())
        AnswerError(response, response.status,
                    response.status == 404 ? "there is no such path" : "the request is refused");
    });
    server_.set_exception_handler([](const Request&, Response& response, std::exception_ptr) {
      AnswerError(response, 500, "internal error");
    });
  }

  // fn(request) -> JSON.
  template <typename Fn>
  void Get(const std::string& pattern, Fn fn) {
    server_.Get(pattern, [fn](const Request& request, Response& response) {
      try {
        Answer(response, fn(request));
      } catch (const std::exception& error) {
        AnswerError(response, CodeOf(error), error.what());
      }
    });
  }

  void CheckName(const Request& request) const {
    if (request.matches[1] != options_.model_name)
      throw HttpError(404, Format("there is no model '{}'", request.matches[1].str()));
  }
  void CheckModel(const Request& request, int64_t served_version) const {
    const std::string version = std::to_string(served_version);
    CheckName(request);
    if (request.matches.size() > 2 && request.matches[2].matched && request.matches[2] != version)
      throw HttpError(
          404, Format("there is no version '{}', but {}", request.matches[2].str(), version));
  }

  void Infer(const Request& request, Response& response, const httplib::ContentReader& read) {
    const auto begin = std::chrono::steady_clock::now();
    int64_t examples = 0;
    try {
      const std::string body = ReadBody(request, response, read, options_.max_body);
      examples = AnswerInfer(request, body, response);
      response.status = 200;
    } catch (const std::exception& error) {
      AnswerError(response, CodeOf(error), error.what());
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    metrics_.CountRequest(response.status, taken.count(), examples);
  }

  static std::string TypeOf(const Request& request) {
    return request.get_header_value("Content-Type");
  }

  // Keeps no model: while a request waits for its batch, no delta is to wait for it.
  InferRequest ReadInfer(const Request& request, const std::string& body) const {
    const auto served = predictor_.model();
    CheckModel(request, served->spec().version);
    const std::string type = TypeOf(request);
    if (type == kSafetensorsType) return ParseInferSafetensors(body, served->spec());
    const auto length = BinaryLength(request);
    // Triton's clients call JSON with tensors behind it a stream of bytes.
    if (!length && !type.empty() && !type.starts_with(kJsonType))
      throw HttpError(415, Format("expected {} or {}, got {}", kJsonType, kSafetensorsType, type));
    return ParseInferJson(body, length, served->spec());
  }

  // How many examples there were.
  int64_t AnswerInfer(const Request& request, const std::string& body, Response& response) {
    InferRequest infer = ReadInfer(request, body);
    const ScoredRequest scored = queue_.Submit(std::move(infer.predict)).get();
    CheckModel(request, scored.model_version);  // it may be a newer one by now
    response.set_header(kVersionHeader, std::to_string(scored.model_version));
    if (TypeOf(request) == kSafetensorsType)
      response.set_content(InferResponseSafetensors(scored.scores), kSafetensorsType);
    else
      response.set_content(InferResponseJson(options_.model_name, scored, infer.id), kJsonType);
    return std::ssize(scored.scores);
  }

  void Load(const Request& request, Response& response) {
    bool ok = false;
    try {
      CheckName(request);
      predictor_.Reload();
      ok = true;
      Answer(response, "{}");
    } catch (const std::exception& error) {
      AnswerError(response, CodeOf(error), error.what());
    }
    metrics_.CountReload(ok);
  }

  void Take(const Request& request, Response& response) {
    try {
      CheckName(request);
      const int64_t taken = predictor_.TakeDeltas();
      Answer(response, TakenDeltasJson(taken, predictor_.model()->spec().version));
    } catch (const std::exception& error) {
      AnswerError(response, CodeOf(error), error.what());
    }
  }

  Predictor& predictor_;
  const HttpServerOptions options_;
  ServerMetrics metrics_;
  RequestQueue queue_;
  httplib::Server server_;
  int port_ = -1;
  std::atomic<bool> run_begun_ = false, run_ended_ = false, stop_asked_ = false;
};

HttpServer::HttpServer(Predictor& predictor, HttpServerOptions options)
    : impl_(std::make_unique<Impl>(predictor, std::move(options))) {}
HttpServer::~HttpServer() = default;

int HttpServer::port() const { return impl_->port(); }
void HttpServer::Run() { impl_->Run(); }
void HttpServer::Stop() { impl_->Stop(); }

}  // namespace tessera::serve
