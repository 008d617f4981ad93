#ifndef TESSERA_SERVE_HTTP_REQUEST_PATH_H_
#define TESSERA_SERVE_HTTP_REQUEST_PATH_H_
// The route that a request's target names.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::serve {

enum class Action {
  kServer,           // /v2
  kLive,             // /v2/health/live
  kReady,            // /v2/health/ready
  kMetrics,          // /metrics
  kIndex,            // /v2/repository/index
  kLoad,             // /v2/repository/models/NAME/load
  kDeltas,           // /v2/repository/models/NAME/deltas
  kStatisticsOfAll,  // /v2/models/stats
  kModel,            // /v2/models/NAME[/versions/V], as the ones below
  kModelReady,       // …/ready
  kConfig,           // …/config
  kStatistics,       // …/stats
  kInfer,            // …/infer
  kInferRows,        // …/infer_rows
};

struct Route {
  Action action;
  const char* methods;                      // that it takes, as the field Allow names them
  std::string model = {};                   // NAME
  std::optional<std::string> version = {};  // V
};

// "/v2/models/a%20b?x=1" as v2, models and "a b". Throws HttpError (400) for a % that is no byte.
std::vector<std::string> PathParts(std::string_view target);
// Nothing for a path that this server does not have. Throws HttpError as PathParts does.
std::optional<Route> RouteOf(std::string_view target);
// Whether the target's query has `key`=true. Throws HttpError (400) where it is neither true nor
// false or given twice, and for another key.
bool IsAsked(std::string_view target, std::string_view key);
// Whether a route takes a method.
bool Takes(const Route& route, std::string_view method);

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_HTTP_REQUEST_PATH_H_
