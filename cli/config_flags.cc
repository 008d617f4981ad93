#include "cli/config_flags.h"

#include <algorithm>

#include "cli/show/log.h"
#include "embedding/plugin_rules.h"
#include "runtime/base/check.h"
#include "runtime/files/files.h"
#include "train/config/config_settings.h"

namespace tessera::cli {
namespace {

void LoadPlugins(const std::vector<std::string>& paths) {
  for (size_t i = 0; i < paths.size(); ++i) {
    if (std::find(paths.begin(), paths.begin() + static_cast<int64_t>(i), paths[i]) !=
        paths.begin() + static_cast<int64_t>(i))
      throw Error(Format("--plugin {}: it is given twice: leave one of them out", paths[i]));
    LoadRulePlugin(paths[i]);
  }
}

}  // namespace

void WarnOfPlugins() {
  for (const RulePlugin* plugin : LoadedRulePlugins())
    if (plugin->table->contracts())
      Warn(
          Format("--plugin {}: it was compiled to multiply and add in one instruction, or with "
                 "-ffast-math, so its results are those of this compiler and CPU alone: with "
                 "-ffp-contract=off and without -ffast-math they are the same everywhere",
                 plugin->path));
}

Flag AddPluginFlag(Command command) {
  return command
      .AddWords(
          "--plugin", LoadPlugins,
          "Load a fused row optimizer of your own, which was compiled into this shared object "
          "(tessera/embedding/rule_plugin.h); configurations then name it. May be given "
          "several times")
      .OneAtATime()
      .Value("FILE");
}

Flag AddSetFlag(Command command, std::vector<std::string>& settings) {
  return command
      .Add("--set", settings,
           "Set a key of the configuration by its path, before it is checked: "
           "optimizer.sparse.lr=0.01, tables[0].rows=1000 or tables[name=t_user].rows=1000; a name "
           "with a bracket stands in quotes, as tables[name=\"a]b\"].rows=1000. The value is JSON, "
           "or else text. May be given several times")
      .OneAtATime()
      .ShowDefault("")
      .Value("PATH=VALUE");
}

Flag AddConfigFlags(Command command, const std::string& help, std::string& config,
                    std::vector<std::string>& settings) {
  const Flag flag = command.Add("--config", config, help).Value("FILE");
  AddSetFlag(command, settings).Needs(flag);
  AddPluginFlag(command);
  return flag;
}

void AddSkipBadLinesFlag(Command command, bool& skip_bad_lines) {
  command.Add("--skip-bad-lines", skip_bad_lines,
              "Leave out bad lines and count them; without this flag a bad line is an error");
}

TrainConfig ReadConfigText(const std::string& text, const std::string& source,
                           const std::vector<std::string>& settings) {
  return ParseTrainConfig(WithSettings(text, source, settings), source);
}

TrainConfig ReadConfigFile(const std::string& path, const std::vector<std::string>& settings) {
  return ReadConfigText(ReadTextFile(path), path, settings);
}

std::optional<TrainConfig> ReadConfigIfGiven(const std::string& path,
                                             const std::vector<std::string>& settings) {
  if (path.empty()) return {};
  return ReadConfigFile(path, settings);
}

}  // namespace tessera::cli
