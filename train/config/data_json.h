#ifndef TESSERA_TRAIN_CONFIG_DATA_JSON_H_
#define TESSERA_TRAIN_CONFIG_DATA_JSON_H_
// DataConfig as JSON (train_config.h shows it), and what data ask of the rest of a configuration.
#include <string>
#include <vector>

#include "runtime/json/json_object.h"
#include "train/config/data_config.h"

namespace tessera::internal {

// Throws Error, or adds to `problems`, for a key that the format does not have, or a number out of
// its range.
DataConfig DataFromJson(const Json& value, const std::string& where,
                        JsonProblems* problems = nullptr);
Json DataToJson(const DataConfig& data);

// The columns and numbers that rows of a format have. Throws Error for a feature that is no column
// ("feature 'x': …"), and for another number of them ("model.dense_in: …").
void CheckFeature(const DataConfig& data, const std::string& feature);
void CheckDenseIn(const DataConfig& data, int64_t dense_in);
// Whether rows have these features and so many numbers.
bool HasInputs(const DataConfig& data, const std::vector<std::string>& features, int64_t dense_in);

// A number that is not negative, under "seed".
void ReadSeed(JsonObject& object, uint64_t& seed);

}  // namespace tessera::internal
#endif  // TESSERA_TRAIN_CONFIG_DATA_JSON_H_
