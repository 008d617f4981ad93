#ifndef TESSERA_TRAIN_CONFIG_START_CHECKS_H_
#define TESSERA_TRAIN_CONFIG_START_CHECKS_H_
// Checks of a configuration before a training starts. One that was saved is read without them.
#include <string>
#include <vector>

#include "train/config/train_config.h"

namespace tessera {

// Throws Error, which begins with `source` and has a line for each problem, for tables whose dim or
// location their rule does not take, caches without room for a set, and for a dense optimizer that
// no model's parameters take. A plan may give tables another location and cut their rows: those
// `of_ranks` are checked with it (CheckPlanOfRules).
void CheckStart(const TrainConfig& config, const std::string& source, bool of_ranks);

// Throws Error for a table whose rule is that of a plugin which is not loaded (`source` is the file
// that names it), or of one that does not run on the device, a word of --device.
void CheckPluginRules(const TrainConfig& config, const std::string& source,
                      const std::string& device);

// Returns one sentence for each rule whose plugin is another file than the one which the saved
// configuration was trained with.
std::vector<std::string> PluginChanges(const std::string& saved_config);

}  // namespace tessera
#endif  // TESSERA_TRAIN_CONFIG_START_CHECKS_H_
