#include "serve/http/service_warm_up.h"

#include <exception>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "serve/http/inference_protocol.h"

namespace tessera::serve {
namespace {

std::future<ScoredRequest> Submit(RequestQueue& queue, const std::shared_ptr<Predictor>& predictor,
                                  const PredictRequest& request) {
  const auto promise = std::make_shared<std::promise<ScoredRequest>>();
  queue.Submit(predictor, request, [promise](std::exception_ptr error, ScoredRequest scored) {
    error ? promise->set_exception(std::move(error)) : promise->set_value(std::move(scored));
  });
  return promise->get_future();
}

void AnswerOne(RequestQueue& queue, int workers, const ModelVersions& model,
               const std::shared_ptr<Predictor>& predictor) {
  const auto served = predictor->model();
  InferRequest infer = ParseInferJson(MadeUpRowJson(served->spec()), {}, served->spec());
  infer.predict.counted = false;
  std::vector<std::future<ScoredRequest>> answers;
  for (int i = 0; i < workers; ++i) answers.push_back(Submit(queue, predictor, infer.predict));
  for (auto& answer : answers) AnswerInJson(model.name(), answer.get(), infer.id);
}

}  // namespace

std::string MadeUpRowJson(const ModelSpec& spec) {
  std::string dense;
  for (int64_t i = 0; i < spec.net.dense_in; ++i) dense += i == 0 ? "0" : ",0";
  std::string json = Format(R"({{"inputs":[{{"name":"{}","datatype":"FP32","shape":[1,{}],)"
                            R"("data":[{}]}})",
                            kDenseInput, spec.net.dense_in, dense);
  for (const std::string& feature : spec.Features())
    json +=
        Format(R"(,{{"name":{},"datatype":"INT64","shape":[1],"data":[0]}})", QuotedJson(feature));
  return json + "]}";
}

void WarmUpService(RequestQueue& queue, int workers,
                   const std::map<std::string, ModelVersions*>& models, int times) {
  for (int i = 0; i < times; ++i)
    for (const auto& [name, model] : models) try {
        for (const ServedVersion& version : model->versions())
          AnswerOne(queue, workers, *model, version.predictor);
      } catch (const std::exception&) {
      }
}

}  // namespace tessera::serve
