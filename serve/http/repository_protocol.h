#ifndef TESSERA_SERVE_HTTP_REPOSITORY_PROTOCOL_H_
#define TESSERA_SERVE_HTTP_REPOSITORY_PROTOCOL_H_
// Bodies about models, not of inferences: Triton's repository index, model configuration and
// statistics, and the requests that load models.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "serve/http/version_counts.h"
#include "serve/model_spec.h"
#include "serve/request_queue.h"
#include "serve/versions/model_versions.h"

namespace tessera::serve {

// [{"name", "version": "3", "state": "READY", "reason": ""}, …] of the versions that are served,
// and, unless the request's body is {"ready": true}, with the state UNAVAILABLE of those that
// cannot be loaded or whose files were cut. Throws Error for a body that is not {}, {"ready": …} or
// empty.
std::string IndexJson(const std::map<std::string, ModelVersions*>& models, std::string_view body);
// The versions that are served now, oldest first; deltas take them above the numbers of folders.
std::vector<int64_t> ServedNumbers(const ModelVersions& model);

// Triton's model configuration, as far as it means something here.
std::string ModelConfigJson(const std::string& model, const ModelSpec& spec,
                            const RequestQueueOptions& queue);

// Counts of one version.
struct VersionStatistics {
  std::string model;
  int64_t version;
  VersionCounts counts;
};
// {"model_stats": […]}, as Triton's statistics. Reading the body is compute_input, writing the
// answer compute_output.
std::string StatisticsJson(const std::vector<VersionStatistics>& versions);

// A request to load the model: {"parameters": {"new_inputs": true}}, or no body.
struct LoadRequest {
  bool new_inputs = false;  // the model may read other inputs than the one that is served
};
LoadRequest ParseLoad(std::string_view body);

// {"taken": how many, "model_version": "7"}.
std::string TakenDeltasJson(int64_t taken, int64_t version);

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_HTTP_REPOSITORY_PROTOCOL_H_
