#include "serve/http/inference_service.h"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cmath>
#include <iterator>
#include <thread>
#include <utility>

#include "runtime/base/parse_number.h"
#include "runtime/base/start_threads.h"
#include "serve/http/http_error.h"
#include "serve/http/inference_protocol.h"
#include "serve/http/repository_protocol.h"
#include "serve/http/request_path.h"
#include "serve/http/server_metrics.h"
#include "serve/http/service_models.h"
#include "serve/http/service_warm_up.h"
#include "serve/http/shadow_traffic.h"

namespace tessera::serve {

// Threads that run what is posted to them, in the order of posting. Unlike those of asio's
// thread_pool all begin, or an Error says why one cannot: a pool that has begun in part waits for
// its end for ever.
class WorkThreads {
 public:
  WorkThreads(int count, const std::string& what) : work_(count), open_(work_.get_executor()) {
    StartThreads(threads_, count, what, [this](int) { work_.run(); });
  }
  ~WorkThreads() { Join(); }
  WorkThreads(const WorkThreads&) = delete;
  WorkThreads& operator=(const WorkThreads&) = delete;

  // Has one of them run fn(), which throws nothing.
  template <typename Fn>
  void Post(Fn fn) {
    boost::asio::post(work_, std::move(fn));
  }
  // Ends them once all that was posted has run.
  void Join() {
    open_.reset();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  boost::asio::io_context work_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> open_;
  std::vector<std::thread> threads_;
};

namespace {

// Larger bodies and answers are read and written by threads of their own: they would hold up the
// small ones of a thread that moves bytes.
constexpr size_t kLargeBody = 64 << 10, kManyScores = 4096;

std::optional<size_t> JsonBytes(const HttpRequest& request) {
  if (!request.json_bytes) return std::nullopt;
  const std::string& text = *request.json_bytes;
  size_t length = 0;
  if (!ParseNumber(text, length))
    throw Error(
        Format("Inference-Header-Content-Length: expected a number, got '{}'", text.substr(0, 40)));
  return length;
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
    reply({.status = 503, .content_type = {}, .body = {}});
  }
}

}  // namespace

class InferenceService::Impl {
 public:
  Impl(const std::vector<ModelVersions*>& models, InferenceServiceOptions options)
      : options_(std::move(options)),
        queue_(std::make_unique<RequestQueue>(options_.queue)),
        models_(models, metrics_, *queue_, options_),
        shadows_(*queue_, metrics_, options_.queue.max_queued),
        large_(options_.large_workers, "thread that reads large bodies"),
        loads_(1, "thread that loads models") {}
  ~Impl() {
    large_.Join();
    loads_.Join();
    queue_.reset();  // its last answers may be large
    late_.Join();
  }

  void WarmUp() const {
    WarmUpService(*queue_, options_.queue.workers, models_.by_name(), options_.warm_up);
  }

  void Answer(HttpRequest request, HttpReply reply) {
    auto route = RouteOf(request.target);
    if (!route) throw HttpError(404, "there is no such path");
    if (!Takes(*route, request.method))
      throw HttpError(405, Format("this path takes {}", route->methods), route->methods);
    if (route->action == Action::kInfer || route->action == Action::kInferRows)
      return Infer(std::move(*route), std::move(request), std::move(reply));
    if (route->action == Action::kLoad || route->action == Action::kDeltas)
      return Administer(*route, request.body, std::move(reply));
    reply(models_.Describe(*route, request));
  }

  void CountError(int status) { metrics_.CountError(status); }

 private:
  // An inference on its way.
  struct Call {
    Route route;
    HttpReply reply;
    ModelVersions* model = nullptr;  // once it is known
    StageClock clock = {};
    InferenceFacts facts = {};
    bool safetensors = false;
    std::string id = {};
    std::vector<AskedOutput> outputs = {};
    std::shared_ptr<ShadowScores> shadow = {};  // null: no shadow scores it
    RequestQueue* queue = nullptr;
    std::optional<HttpRequest> rows = {};  // while they wait: a model may come that reads otherwise
  };

  // fn() by one of `threads`; what it throws goes to the client.
  template <typename Fn>
  static void Leave(WorkThreads& threads, HttpReply reply, Fn fn) {
    threads.Post([reply = std::move(reply), fn = std::move(fn)]() mutable {
      try {
        fn();
      } catch (const std::exception& error) {
        Fail(reply, error);
      }
    });
  }

  void Infer(Route route, HttpRequest request, HttpReply reply) {
    const auto call =
        std::make_shared<Call>(Call{.route = std::move(route), .reply = std::move(reply)});
    call->queue = queue_.get();
    if (request.body.size() <= kLargeBody) return Submit(call, request);
    const auto large = std::make_shared<HttpRequest>(std::move(request));
    Leave(large_, call->reply, [this, call, large] { Submit(call, *large); });
  }

  void Submit(const std::shared_ptr<Call>& call, HttpRequest& request) {
    try {
      call->model = &models_.Named(call->route.model);
      call->facts.model = call->model->name();
      const std::shared_ptr<Predictor> predictor = PredictorOf(*call);
      InferRequest infer = Read(*call, request, *predictor);
      SubmitShadow(*call, request, *predictor);
      call->id = std::move(infer.id);
      call->outputs = std::move(infer.outputs);
      call->clock.End(call->facts);
      Enqueue(call, predictor, std::move(infer.predict), request);
    } catch (const std::exception& error) {
      ReplyError(*call, error);
    }
  }

  // Reads the rows of a call anew, for the model that answers now.
  void SubmitAgain(const std::shared_ptr<Call>& call) noexcept {
    try {
      HttpRequest request = std::move(*call->rows);
      const std::shared_ptr<Predictor> predictor = PredictorOf(*call);
      PredictRequest read = Read(*call, request, *predictor).predict;
      Enqueue(call, predictor, std::move(read), request);
    } catch (const std::exception& error) {
      ReplyError(*call, error);
    }
  }

  static std::shared_ptr<Predictor> PredictorOf(const Call& call) {
    return call.route.version ? ServiceModels::Chosen(*call.model, call.route)
                              : call.model->NextToAnswer();
  }

  // Gives the memory of tensors' body back before the request waits.
  void Enqueue(const std::shared_ptr<Call>& call, const std::shared_ptr<Predictor>& predictor,
               PredictRequest predict, HttpRequest& request) {
    if (call->route.action == Action::kInferRows) call->rows = std::move(request);
    std::string().swap(request.body);
    call->queue->Submit(predictor, std::move(predict),
                        [this, call](std::exception_ptr error, ScoredRequest scored) {
                          Scored(call, std::move(error), std::move(scored));
                        });
  }

  // The request keeps no model: while it waits for its batch, it does not hold up a delta.
  InferRequest Read(Call& call, const HttpRequest& request, const Predictor& predictor) {
    const auto served = predictor.model();
    call.facts.version = served->spec().version;
    const bool strict = IsAsked(request.target, "strict");
    InferRequest infer = Parse(call, request, *served, strict);
    infer.predict.strict |= strict;
    const IdRanges& ranges = served->id_ranges();
    metrics_.CountStrayIds(call.model->name(), ranges, ranges.Find(infer.predict.features));
    return infer;
  }

  void SubmitShadow(Call& call, const HttpRequest& request, const Predictor& answers) {
    if (call.route.version) return;
    const std::shared_ptr<Predictor> shadow = call.model->NextShadow(answers);
    if (shadow == nullptr) return;
    call.shadow = shadows_.Submit(call.model->name(), shadow, [&] {
      return Parse(call, request, *shadow->model(), /*strict=*/false).predict;
    });
  }

  static InferRequest Parse(Call& call, const HttpRequest& request, const ServedModel& served,
                            bool strict) {
    const std::string& type = request.content_type;
    if (call.route.action == Action::kInferRows) {
      CheckRowsType(type);
      InferRequest rows;
      rows.predict = served.raw_rows().Read(request.body, "body", strict);
      return rows;
    }
    call.safetensors = type == kSafetensorsType;
    if (call.safetensors) return ParseInferSafetensors(request.body, served.spec());
    const auto length = JsonBytes(request);
    // Triton's clients call JSON with tensors behind it a stream of bytes.
    if (!length && !type.empty() && !type.starts_with(kJsonType))
      throw HttpError(415, Format("expected {} or {}, got {}", kJsonType, kSafetensorsType,
                                  type.substr(0, 100)));
    return ParseInferJson(request.body, length, served.spec());
  }

  // Called by a worker of the queue.
  void Scored(const std::shared_ptr<Call>& call, std::exception_ptr error,
              ScoredRequest scored) noexcept {
    try {
      if (error) std::rethrow_exception(error);
      call->clock.End(call->facts, scored.taken);
      call->clock.End(call->facts, scored.answered);
      if (scored.scores.size() <= kManyScores) return Write(*call, scored);
      const auto many = std::make_shared<ScoredRequest>(std::move(scored));
      Leave(late_, call->reply, [this, call, many] { Write(*call, *many); });
    } catch (const ReadOtherwise&) {
      SubmitAgain(call);
    } catch (const std::exception& thrown) {
      ReplyError(*call, thrown);
    }
  }

  void Write(Call& call, const ScoredRequest& scored) {
    const auto& version = call.route.version;
    if (version && *version != std::to_string(scored.model_version) &&
        call.model->Find(*version) == nullptr)  // it is another one by now
      ServiceModels::ThrowNoVersion(*call.model, *version);
    call.facts.version = scored.model_version;
    call.facts.began_batch = scored.began_batch;
    CheckFinite(call, scored);
    if (call.shadow != nullptr) shadows_.AddAnswer(call.model->name(), *call.shadow, scored.scores);
    InferAnswer answer = call.safetensors
                             ? InferAnswer{InferResponseSafetensors(scored)}
                             : AnswerInJson(call.model->name(), scored, call.id, call.outputs);
    HttpResponse response{.status = 200,
                          .content_type = call.safetensors    ? kSafetensorsType
                                          : answer.json_bytes ? kBytesType
                                                              : kJsonType,
                          .body = std::move(answer.body),
                          .json_bytes = answer.json_bytes,
                          .model_version = scored.model_version,
                          .model_digest = scored.model_digest};
    call.facts.examples = std::ssize(scored.scores) / std::ssize(scored.outputs);
    call.clock.End(call.facts);
    Reply(call, std::move(response));
  }

  // JSON has no NaN, and a score that is no number means nothing in any form.
  void CheckFinite(Call& call, const ScoredRequest& scored) const {
    call.facts.not_finite =
        std::ranges::count_if(scored.scores, [](float s) { return !std::isfinite(s); });
    if (call.facts.not_finite > 0)
      throw HttpError(
          500,
          Format("model '{}', version {}: {} of {} scores are not finite (NaN or infinite): "
                 "its weights, or the dense features or weights of ids of the request, are not",
                 call.model->name(), scored.model_version, call.facts.not_finite,
                 scored.scores.size()));
  }

  void Reply(Call& call, HttpResponse response) {
    call.facts.status = response.status;
    call.clock.Finish(call.facts);
    metrics_.Count(call.facts);
    response.inference = call.facts;
    call.reply(std::move(response));
  }
  void ReplyError(Call& call, const std::exception& error) noexcept {
    try {
      Reply(call, ErrorResponse(error));
    } catch (...) {
      Fail(call.reply, error);
    }
  }

  void Administer(const Route& route, const std::string& body, HttpReply reply) {
    const bool load = route.action == Action::kLoad;
    ModelVersions& model = models_.Named(route.model);
    if (!options_.admin)
      throw HttpError(403,
                      "models are loaded, and deltas taken, by requests only where the server was "
                      "started with --admin");
    const bool new_inputs = load && ParseLoad(body).new_inputs;
    Leave(loads_, reply, [this, load, new_inputs, reply, &model] {
      load ? Load(model, new_inputs, reply) : Take(model, reply);
    });
  }

  void Load(ModelVersions& model, bool new_inputs, const HttpReply& reply) {
    const std::vector<int64_t> before = ServedNumbers(model);
    try {
      model.Reload(new_inputs);
    } catch (...) {
      if (ServedNumbers(model) != before) options_.took_up(model);  // the good ones
      throw;
    }
    options_.took_up(model);
    reply(JsonResponse("{}"));
  }

  void Take(ModelVersions& model, const HttpReply& reply) {
    const int64_t taken = model.TakeDeltas();
    if (taken > 0) options_.took_up(model);
    reply(JsonResponse(TakenDeltasJson(taken, model.current()->model()->spec().version)));
  }

  const InferenceServiceOptions options_;
  ServerMetrics metrics_;
  WorkThreads late_{1, "thread that writes large answers"};
  std::unique_ptr<RequestQueue> queue_;
  const ServiceModels models_;
  ShadowTraffic shadows_;
  WorkThreads large_, loads_;  // read large bodies; take models
};

InferenceService::InferenceService(const std::vector<ModelVersions*>& models,
                                   InferenceServiceOptions options)
    : impl_(std::make_unique<Impl>(models, std::move(options))) {}
InferenceService::~InferenceService() = default;

void InferenceService::WarmUp() { impl_->WarmUp(); }
void InferenceService::CountError(int status) { impl_->CountError(status); }

void InferenceService::Answer(HttpRequest request, HttpReply reply) noexcept {
  try {
    impl_->Answer(std::move(request), reply);
  } catch (const std::exception& error) {
    Fail(reply, error);
  }
}

}  // namespace tessera::serve
