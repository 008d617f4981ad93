#include "serve/http/inference_service.h"

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <charconv>
#include <chrono>
#include <cmath>
#include <utility>

#include "serve/http/http_error.h"
#include "serve/http/inference_protocol.h"
#include "serve/http/request_path.h"
#include "serve/http/server_metrics.h"

namespace tessera::serve {
namespace {

using Clock = std::chrono::steady_clock;

// Larger bodies and answers are read and written by threads of their own: they would hold up the
// small ones of a thread that moves bytes.
constexpr size_t kLargeBody = 64 << 10, kManyScores = 4096;
constexpr char kMetricsType[] = "text/plain; version=0.0.4";

std::optional<size_t> JsonBytes(const HttpRequest& request) {
  if (!request.json_bytes) return std::nullopt;
  const std::string& text = *request.json_bytes;
  size_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (error != std::errc() || end != text.data() + text.size())
    throw Error(
        Format("Inference-Header-Content-Length: expected a number, got '{}'", text.substr(0, 40)));
  return length;
}

// JSON has no NaN, and a score that is no number means nothing in any form.
void CheckFinite(const ScoredRequest& scored, const std::string& model) {
  size_t bad = 0;
  for (const float score : scored.scores) bad += std::isfinite(score) ? 0 : 1;
  if (bad > 0)
    throw HttpError(500, Format("model '{}', version {}: {} of {} scores are not finite (NaN or "
                                "infinite): its weights or the request's dense features are not",
                                model, scored.model_version, bad, scored.scores.size()));
}

// Lines of JSON, whatever a client calls them; curl calls all that it is given a form.
void CheckRowsType(const std::string& type) {
  for (const char* taken : {kJsonType, "application/x-ndjson", "application/jsonl",
                            "application/x-www-form-urlencoded", "text/plain"})
    if (type.starts_with(taken)) return;
  if (!type.empty())
    throw HttpError(
        415, Format("expected application/x-ndjson or {}, got {}", kJsonType, type.substr(0, 100)));
}

void Fail(const HttpReply& reply, const std::exception& error) noexcept {
  try {
    reply(ErrorResponse(error));
  } catch (...) {  // not even memory for the sentence
    reply({.status = 503, .content_type = {}, .body = {}, .model_version = {}});
  }
}

}  // namespace

class InferenceService::Impl {
 public:
  Impl(Predictor& predictor, InferenceServiceOptions options)
      : predictor_(predictor),
        options_(std::move(options)),
        queue_(std::make_unique<RequestQueue>(predictor, options_.queue)),
        large_(static_cast<size_t>(options_.large_workers)),
        loads_(1) {}
  ~Impl() {
    large_.join();
    loads_.join();
    queue_.reset();  // its last answers may be large
    late_.join();
  }

  void Answer(HttpRequest request, HttpReply reply) {
    const auto parts = PathParts(request.target);
    const std::string method = MethodOf(parts);
    if (method.empty()) throw HttpError(404, "there is no such path");
    if (request.method != method)
      throw HttpError(405, Format("this path takes {}", method), method);
    if (method == "GET") return reply(Get(parts));
    if (parts[1] == "repository")
      return Administer(parts[3], parts[4] == "load", request.body, std::move(reply));
    Infer(*ModelPathOf(parts), std::move(request), std::move(reply));
  }

 private:
  // An inference on its way.
  struct Call {
    ModelPath path;
    HttpReply reply;
    Clock::time_point begin = Clock::now();
    bool safetensors = false;
    std::string id;
  };

  static HttpResponse Json(std::string json) {
    return {.status = 200, .content_type = kJsonType, .body = std::move(json), .model_version = {}};
  }

  // fn() by a thread of `pool`; what it throws goes to the client.
  template <typename Fn>
  static void Leave(boost::asio::thread_pool& pool, HttpReply reply, Fn fn) {
    boost::asio::post(pool, [reply = std::move(reply), fn = std::move(fn)]() mutable {
      try {
        fn();
      } catch (const std::exception& error) {
        Fail(reply, error);
      }
    });
  }

  HttpResponse Get(const std::vector<std::string>& parts) const {
    if (parts == std::vector<std::string>{"metrics"})
      return {
          .status = 200,
          .content_type = kMetricsType,
          .body = metrics_.Text(*predictor_.model(), queue_->queued(), predictor_.delta_counts()),
          .model_version = {}};
    if (parts == std::vector<std::string>{"v2"}) return Json(ServerMetadataJson());
    if (parts[1] == "health") return Json("{}");
    const auto path = ModelPathOf(parts);
    const auto served = predictor_.model();
    CheckModel(*path, served->spec().version);
    if (path->action == "ready") return Json("{}");
    return Json(ModelMetadataJson(options_.model_name, served->spec(), served->raw_rows().keys()));
  }

  void CheckName(const std::string& name) const {
    if (name != options_.model_name)
      throw HttpError(404, Format("there is no model '{}'", name.substr(0, 100)));
  }
  void CheckModel(const ModelPath& path, int64_t served_version) const {
    CheckName(path.name);
    const std::string version = std::to_string(served_version);
    if (path.version && *path.version != version)
      throw HttpError(
          404, Format("there is no version '{}', but {}", path.version->substr(0, 100), version));
  }

  void Infer(ModelPath path, HttpRequest request, HttpReply reply) {
    const auto call = std::make_shared<Call>();
    call->path = std::move(path);
    call->reply = std::move(reply);
    if (request.body.size() <= kLargeBody) return Submit(call, request);
    const auto large = std::make_shared<HttpRequest>(std::move(request));
    Leave(large_, call->reply, [this, call, large] { Submit(call, *large); });
  }

  // Gives the body's memory back before the request waits.
  void Submit(const std::shared_ptr<Call>& call, HttpRequest& request) {
    try {
      InferRequest infer = Read(*call, request);
      call->id = std::move(infer.id);
      std::string().swap(request.body);
      queue_->Submit(std::move(infer.predict),
                     [this, call](std::exception_ptr error, ScoredRequest scored) {
                       Scored(call, std::move(error), std::move(scored));
                     });
    } catch (const std::exception& error) {
      ReplyError(*call, error);
    }
  }

  // The request keeps no model: while it waits for its batch, it does not hold up a delta.
  InferRequest Read(Call& call, const HttpRequest& request) const {
    const auto served = predictor_.model();
    CheckModel(call.path, served->spec().version);
    const std::string& type = request.content_type;
    if (call.path.action == kRowsAction) {
      CheckRowsType(type);
      return {.id = {}, .predict = served->raw_rows().Read(request.body, "body")};
    }
    call.safetensors = type == kSafetensorsType;
    if (call.safetensors) return ParseInferSafetensors(request.body, served->spec());
    const auto length = JsonBytes(request);
    // Triton's clients call JSON with tensors behind it a stream of bytes.
    if (!length && !type.empty() && !type.starts_with(kJsonType))
      throw HttpError(415, Format("expected {} or {}, got {}", kJsonType, kSafetensorsType,
                                  type.substr(0, 100)));
    return ParseInferJson(request.body, length, served->spec());
  }

  // Called by a worker of the queue.
  void Scored(const std::shared_ptr<Call>& call, std::exception_ptr error,
              ScoredRequest scored) noexcept {
    try {
      if (error) std::rethrow_exception(error);
      if (scored.scores.size() <= kManyScores) return Write(*call, scored);
      const auto many = std::make_shared<ScoredRequest>(std::move(scored));
      Leave(late_, call->reply, [this, call, many] { Write(*call, *many); });
    } catch (const std::exception& thrown) {
      ReplyError(*call, thrown);
    }
  }

  void Write(const Call& call, const ScoredRequest& scored) {
    CheckModel(call.path, scored.model_version);  // it may be a newer one by now
    CheckFinite(scored, options_.model_name);
    HttpResponse response{.status = 200,
                          .content_type = call.safetensors ? kSafetensorsType : kJsonType,
                          .body = call.safetensors
                                      ? InferResponseSafetensors(scored)
                                      : InferResponseJson(options_.model_name, scored, call.id),
                          .model_version = scored.model_version,
                          .model_digest = scored.model_digest};
    Reply(call, std::move(response), std::ssize(scored.scores) / std::ssize(scored.outputs));
  }

  void Reply(const Call& call, HttpResponse response, int64_t examples) {
    const std::chrono::duration<double> taken = Clock::now() - call.begin;
    metrics_.CountRequest(response.status, taken.count(), examples);
    call.reply(std::move(response));
  }
  void ReplyError(const Call& call, const std::exception& error) noexcept {
    try {
      Reply(call, ErrorResponse(error), 0);
    } catch (...) {
      Fail(call.reply, error);
    }
  }

  void Administer(const std::string& name, bool load, const std::string& body, HttpReply reply) {
    if (load && name != options_.model_name) metrics_.CountReload(false);
    CheckName(name);
    if (!options_.admin)
      throw HttpError(403,
                      "models are loaded, and deltas taken, by requests only where the server was "
                      "started with --admin");
    const bool new_inputs = load && ParseLoad(body).new_inputs;
    Leave(loads_, reply,
          [this, load, new_inputs, reply] { load ? Load(new_inputs, reply) : Take(reply); });
  }

  void Load(bool new_inputs, const HttpReply& reply) {
    try {
      predictor_.Reload("", new_inputs);
    } catch (...) {
      metrics_.CountReload(false);
      throw;
    }
    metrics_.CountReload(true);
    reply(Json("{}"));
  }

  void Take(const HttpReply& reply) {
    const int64_t taken = predictor_.TakeDeltas();
    reply(Json(TakenDeltasJson(taken, predictor_.model()->spec().version)));
  }

  Predictor& predictor_;
  const InferenceServiceOptions options_;
  ServerMetrics metrics_;
  boost::asio::thread_pool late_{1};  // writes large answers
  std::unique_ptr<RequestQueue> queue_;
  boost::asio::thread_pool large_, loads_;  // read large bodies; take models
};

InferenceService::InferenceService(Predictor& predictor, InferenceServiceOptions options)
    : impl_(std::make_unique<Impl>(predictor, std::move(options))) {}
InferenceService::~InferenceService() = default;

void InferenceService::Answer(HttpRequest request, HttpReply reply) noexcept {
  try {
    impl_->Answer(std::move(request), reply);
  } catch (const std::exception& error) {
    Fail(reply, error);
  }
}

}  // namespace tessera::serve
