#ifndef TESSERA_CLI_CONFIG_FLAGS_H_
#define TESSERA_CLI_CONFIG_FLAGS_H_
// Flags of every command that takes them: --config, --set, --plugin and --skip-bad-lines.
#include <optional>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "train/config/train_config.h"

namespace tessera::cli {

// Adds --set, which may be given several times.
Flag AddSetFlag(Command command, std::vector<std::string>& settings);
// Adds --plugin, which loads rules of shared objects (embedding/plugin_rules.h) while the line is
// read.
Flag AddPluginFlag(Command command);
// Warns of plugins whose results depend on the CPU.
void WarnOfPlugins();
// Adds --config, which may be left out, with this help, and --set and --plugin beside it. Returns
// --config.
Flag AddConfigFlags(Command command, const std::string& help, std::string& config,
                    std::vector<std::string>& settings);

// Adds --skip-bad-lines.
void AddSkipBadLinesFlag(Command command, bool& skip_bad_lines);

// The configuration in a file, or in `text`, with the settings (train/config/config_settings.h).
TrainConfig ReadConfigFile(const std::string& path, const std::vector<std::string>& settings);
// nullopt where no file is given: the path is "".
std::optional<TrainConfig> ReadConfigIfGiven(const std::string& path,
                                             const std::vector<std::string>& settings);
TrainConfig ReadConfigText(const std::string& text, const std::string& source,
                           const std::vector<std::string>& settings);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_CONFIG_FLAGS_H_
