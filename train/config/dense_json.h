#ifndef TESSERA_TRAIN_CONFIG_DENSE_JSON_H_
#define TESSERA_TRAIN_CONFIG_DENSE_JSON_H_
// A dense optimizer as JSON: {"name": "adagrad", "lr": 0.01, …}. An option that is left out has
// torch's default.
#include <string>

#include "optim/dense_optimizer_config.h"
#include "runtime/json/json_object.h"

namespace tessera::internal {

// Throws Error, or adds to `problems`, for an unknown name or option, listing those there are, or a
// value that makes no sense.
DenseOptimizerConfig DenseOptimizerFromJson(const Json& value, const std::string& where,
                                            JsonProblems* problems = nullptr);

// Every option of the optimizer.
Json DenseOptimizerToJson(const DenseOptimizerConfig& config);

}  // namespace tessera::internal
#endif  // TESSERA_TRAIN_CONFIG_DENSE_JSON_H_
