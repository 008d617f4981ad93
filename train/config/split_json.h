#ifndef TESSERA_TRAIN_CONFIG_SPLIT_JSON_H_
#define TESSERA_TRAIN_CONFIG_SPLIT_JSON_H_
// SplitOptions as JSON (train_config.h shows it), and what a split asks of the data.
#include <string>
#include <vector>

#include "runtime/json/json_object.h"
#include "train/config/data_config.h"

namespace tessera::internal {

// Throws Error, or adds to `problems`, for a key that the kind of split does not have, or a number
// out of its range.
SplitOptions SplitFromJson(const Json& value, const std::string& where,
                           JsonProblems* problems = nullptr);
Json SplitToJson(const SplitOptions& split);

// Throws Error for a split by a feature that is not read, or by times that the rows do not have.
void CheckSplit(const DataConfig& data, const std::vector<CategoricalFeature>& features);

}  // namespace tessera::internal
#endif  // TESSERA_TRAIN_CONFIG_SPLIT_JSON_H_
