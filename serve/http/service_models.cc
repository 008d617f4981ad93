#include "serve/http/service_models.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/base/check.h"
#include "serve/http/http_error.h"
#include "serve/http/inference_protocol.h"

namespace tessera::serve {
namespace {

constexpr char kMetricsType[] = "text/plain; version=0.0.4";

// Throws HttpError (503) for a model that can answer no request.
void CheckReady(const std::string& model, const std::string& failure) {
  if (!failure.empty()) throw HttpError(503, Format("model '{}': {}", model, failure));
}

}  // namespace

HttpResponse JsonResponse(std::string json) {
  return {.status = 200, .content_type = kJsonType, .body = std::move(json)};
}

ServiceModels::ServiceModels(const std::vector<ModelVersions*>& models, ServerMetrics& metrics,
                             const RequestQueue& queue, const InferenceServiceOptions& options)
    : metrics_(metrics), queue_(queue), options_(options) {
  for (ModelVersions* model : models) {
    models_.emplace(model->name(), model);
    metrics.AddModel(model->name());
  }
}

HttpResponse ServiceModels::Describe(const Route& route, const HttpRequest& request) const {
  switch (route.action) {
    case Action::kMetrics:
      return {.status = 200, .content_type = kMetricsType, .body = metrics_.Text(State())};
    case Action::kServer:
      return JsonResponse(ServerMetadataJson());
    case Action::kIndex:
      return JsonResponse(IndexJson(models_, request.body));
    case Action::kStatisticsOfAll:
      return JsonResponse(StatisticsOfAll());
    case Action::kLive:
      return JsonResponse("{}");
    case Action::kReady:
      for (const auto& [name, model] : models_) CheckReady(name, model->FileFailure());
      return JsonResponse("{}");
    default:
      return DescribeModel(route);
  }
}

HttpResponse ServiceModels::DescribeModel(const Route& route) const {
  const ModelVersions& model = Named(route.model);
  const auto served = Chosen(model, route)->model();
  switch (route.action) {
    case Action::kConfig:
      return JsonResponse(ModelConfigJson(model.name(), served->spec(), options_.queue));
    case Action::kStatistics:
      if (!route.version) return JsonResponse(StatisticsJson(StatisticsOf(model)));
      return JsonResponse(StatisticsJson({Statistics(model, *served)}));
    case Action::kModelReady:
      CheckReady(model.name(), route.version ? served->FileFailure() : model.FileFailure());
      return JsonResponse("{}");
    default:
      return JsonResponse(ModelMetadataJson(model.name(), served->spec(), served->raw_rows().keys(),
                                            ServedNumbers(model)));
  }
}

ServerState ServiceModels::State() const {
  ServerState state{.models = {}, .queued = queue_.queued()};
  for (const auto& [name, model] : models_) {
    state.models.push_back({.name = name,
                            .current = model->current()->model(),
                            .versions = {},
                            .shadow = model->policy().shadow.version,
                            .deltas = model->delta_counts(),
                            .loads = model->load_counts()});
    for (const ServedVersion& version : model->versions())
      state.models.back().versions.push_back(version.predictor->model());
  }
  if (options_.access_log != nullptr) state.dropped_lines = options_.access_log->dropped();
  return state;
}

VersionStatistics ServiceModels::Statistics(const ModelVersions& model,
                                            const ServedModel& served) const {
  const int64_t version = served.spec().version;
  return {.model = model.name(),
          .version = version,
          .counts = metrics_.CountsOf(model.name(), version)};
}

std::vector<VersionStatistics> ServiceModels::StatisticsOf(const ModelVersions& model) const {
  std::vector<VersionStatistics> all;
  for (const ServedVersion& version : model.versions())
    all.push_back(Statistics(model, *version.predictor->model()));
  return all;
}

std::string ServiceModels::StatisticsOfAll() const {
  std::vector<VersionStatistics> all;
  for (const auto& [name, model] : models_)
    std::ranges::move(StatisticsOf(*model), std::back_inserter(all));
  return StatisticsJson(all);
}

ModelVersions& ServiceModels::Named(const std::string& name) const {
  const auto found = models_.find(name);
  if (found == models_.end())
    throw HttpError(404, Format("there is no model '{}'", name.substr(0, 100)));
  return *found->second;
}

void ServiceModels::ThrowNoVersion(const ModelVersions& model, const std::string& version) {
  throw HttpError(
      404, Format("there is no version '{}', but {}", version.substr(0, 100), VersionsText(model)));
}

std::shared_ptr<Predictor> ServiceModels::Chosen(const ModelVersions& model, const Route& route) {
  if (!route.version) return model.current();
  std::shared_ptr<Predictor> found = model.Find(*route.version);
  if (found == nullptr) ThrowNoVersion(model, *route.version);
  return found;
}

}  // namespace tessera::serve
