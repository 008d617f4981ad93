#ifndef TESSERA_SERVE_HTTP_SERVICE_MODELS_H_
#define TESSERA_SERVE_HTTP_SERVICE_MODELS_H_
// The models of an inference service by name, and answers about them: metadata, statistics and
// metrics, which compute nothing and so wait for no queue. Any thread may call.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "serve/http/http_message.h"
#include "serve/http/inference_service.h"
#include "serve/http/repository_protocol.h"
#include "serve/http/request_path.h"
#include "serve/http/server_metrics.h"
#include "serve/request_queue.h"
#include "serve/versions/model_versions.h"

namespace tessera::serve {

// An answer of 200.
HttpResponse JsonResponse(std::string json);

class ServiceModels {
 public:
  // Adds the models to `metrics`. All references must outlive this.
  ServiceModels(const std::vector<ModelVersions*>& models, ServerMetrics& metrics,
                const RequestQueue& queue, const InferenceServiceOptions& options);

  const std::map<std::string, ModelVersions*>& by_name() const { return models_; }
  // Throws HttpError (404) for a name that no model has.
  ModelVersions& Named(const std::string& name) const;
  // The predictor of the version that a route names, or of the one that answers without it. Throws
  // HttpError (404) for a version that is not there.
  static std::shared_ptr<Predictor> Chosen(const ModelVersions& model, const Route& route);
  [[noreturn]] static void ThrowNoVersion(const ModelVersions& model, const std::string& version);

  // Answers every route but inferences and those that load models. Throws HttpError (404) as Named
  // and Chosen do, and (503) where readiness is asked of a model whose files were cut.
  HttpResponse Describe(const Route& route, const HttpRequest& request) const;

 private:
  HttpResponse DescribeModel(const Route& route) const;
  ServerState State() const;
  VersionStatistics Statistics(const ModelVersions& model, const ServedModel& served) const;
  std::vector<VersionStatistics> StatisticsOf(const ModelVersions& model) const;
  std::string StatisticsOfAll() const;

  std::map<std::string, ModelVersions*> models_;
  const ServerMetrics& metrics_;
  const RequestQueue& queue_;
  const InferenceServiceOptions& options_;
};

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_HTTP_SERVICE_MODELS_H_
