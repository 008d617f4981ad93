#ifndef TESSERA_SERVE_HTTP_REPOSITORY_PROTOCOL_H_
#define TESSERA_SERVE_HTTP_REPOSITORY_PROTOCOL_H_
// Bodies about models, not of inferences: Triton's repository index, model configuration and
// statistics, and the requests that load models.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "serve/http/version_counts.h"
#include "serve/model_spec.h"
#include "serve/request_queue.h"

namespace tessera::serve {

// A version of a model that is served.
struct IndexEntry {
  std::string model;
  int64_t version;
};
// [{"name", "version": "3", "state": "READY", "reason": ""}, …].
std::string IndexJson(const std::vector<IndexEntry>& entries);
// Checks the body of a request for the index: none, {} or {"ready": true}. All that are listed are
// ready, so that the answer is the same.
void CheckIndexRequest(std::string_view body);

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
