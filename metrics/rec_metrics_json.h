#ifndef TESSERA_METRICS_REC_METRICS_JSON_H_
#define TESSERA_METRICS_REC_METRICS_JSON_H_
// A RecMetricsConfig inside a larger document.
#include <string>

#include "metrics/rec_metrics_config.h"
#include "runtime/json/json_object.h"

namespace tessera::internal {

// Throws Error, or adds to `problems`, for what is unknown, or makes no sense.
RecMetricsConfig RecMetricsFromJson(const Json& value, const std::string& where,
                                    JsonProblems* problems = nullptr);

Json RecMetricsToJson(const RecMetricsConfig& config);

}  // namespace tessera::internal
#endif  // TESSERA_METRICS_REC_METRICS_JSON_H_
