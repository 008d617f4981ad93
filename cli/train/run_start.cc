#include "cli/train/run_start.h"

#include <filesystem>
#include <utility>

#include "cli/show/split_text.h"
#include "data/files/data_identity.h"
#include "embedding/plugin_rules.h"
#include "runtime/base/build_id.h"
#include "runtime/base/check.h"
#include "runtime/base/process_text.h"
#include "runtime/base/version.h"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;
using internal::Json;

Json IdentityJson(const DataIdentity& identity) {
  Json paths = Json::array();
  for (const PathIdentity& path : identity.paths)
    paths.push_back({{"name", path.name},
                     {"bytes", path.bytes},
                     {"head", Format("{:016x}", path.head)},
                     {"tail", Format("{:016x}", path.tail)}});
  return {{"rows", ToString(identity.rows)}, {"paths", std::move(paths)}};
}

Json PluginsJson() {
  Json plugins = Json::array();
  for (const RulePlugin* plugin : LoadedRulePlugins())
    plugins.push_back({{"path", fs::absolute(plugin->path).lexically_normal().string()},
                       {"rule", plugin->rule()},
                       {"sha256", plugin->sha256}});
  return plugins;
}

}  // namespace

std::string CommandText() { return ShellText(CommandWords()); }

Json DataJson(const DataSets& data) {
  Json json = {{"train", IdentityJson(data.train_identity())}};
  if (data.has_eval_rows()) json["eval"] = IdentityJson(data.eval_identity());
  AddSplit(data.split(), data.split_counts(), json);
  return json;
}

Json StartJson(const DataSets& data, const RunStart& start) {
  Json json = {
      {"time", UtcTimeText()},
      {"command", CommandText()},
      {"folder", fs::current_path().string()},
      {"version", kVersion},
      {"build", BuildId()},
      {"machine", start.machine},
      {"device", start.device},
      {"ranks", start.ranks},
      {"threads", start.threads},
      {"pipeline", start.pipeline},
      {"wire_codecs", start.wire_codecs},
      {"data", DataJson(data)},
      {"from", {{"epoch", start.from.epoch}, {"row", start.from.row}, {"step", start.from.step}}}};
  if (start.groups > 1) {
    json["sharding_group_size"] = start.ranks / start.groups;
    json["sync_interval"] = start.sync_interval;
  }
  if (Json plugins = PluginsJson(); !plugins.empty()) json["plugins"] = std::move(plugins);
  return json;
}

Json ContentOf(const Json& data, const char* side) {
  Json content = data.is_object() && data.contains(side) ? data[side] : Json();
  if (!content.is_object()) return content;
  for (Json& path : content["paths"]) path.erase("name");
  return content;
}

}  // namespace tessera::cli
