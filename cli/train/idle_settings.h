#ifndef TESSERA_CLI_TRAIN_IDLE_SETTINGS_H_
#define TESSERA_CLI_TRAIN_IDLE_SETTINGS_H_
// Settings that change nothing beside others, of the same table or of dense parameters, and plugins
// whose rules no table has.
#include <string>
#include <vector>

#include "train/config/train_config.h"

namespace tessera::cli {

// "table a"; "tables a, b"; of many the first.
std::string TablesText(const std::vector<std::string>& names);

// A sentence for each: "stochastic_rounding of table t changes nothing: rows of f32 are not
// rounded".
std::vector<std::string> IdleSettings(const TrainConfig& config);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_TRAIN_IDLE_SETTINGS_H_
