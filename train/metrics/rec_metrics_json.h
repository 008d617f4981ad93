#ifndef TESSERA_TRAIN_METRICS_REC_METRICS_JSON_H_
#define TESSERA_TRAIN_METRICS_REC_METRICS_JSON_H_
// Private to .cc files: a RecMetricsConfig inside a larger document.
#include "runtime/json/json_object.h"
#include "train/metrics/rec_metrics_config.h"

namespace tessera::internal {

// Throws Error for what is unknown, or makes no sense.
RecMetricsConfig RecMetricsFromJson(const Json& value, const std::string& where);

Json RecMetricsToJson(const RecMetricsConfig& config);

}  // namespace tessera::internal
#endif  // TESSERA_TRAIN_METRICS_REC_METRICS_JSON_H_
