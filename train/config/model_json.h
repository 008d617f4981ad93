#ifndef TESSERA_TRAIN_CONFIG_MODEL_JSON_H_
#define TESSERA_TRAIN_CONFIG_MODEL_JSON_H_
// The kind of model and its sizes as JSON: {"type": "dlrm_dcn", "dense_in": 13, "dense_arch": […],
// …}, with the names of models/ranking_net_config.h.
#include <string>

#include "models/ranking_net_config.h"
#include "runtime/json/json_object.h"

namespace tessera::internal {

// Throws Error, or adds to `problems`, for an unknown type, listing those there are, a size that
// the type needs and lacks or does not know, and sizes that make no sense. dense_in may be left
// out: it is then the integers of a row; with 0 there is no dense_arch. "tasks": tasks_json.h.
RankingNetConfig RankingNetFromJson(const Json& value, const std::string& where,
                                    JsonProblems* problems = nullptr);

// Every size of the type.
Json RankingNetToJson(const RankingNetConfig& config);

}  // namespace tessera::internal
#endif  // TESSERA_TRAIN_CONFIG_MODEL_JSON_H_
