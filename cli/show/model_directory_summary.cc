#include "cli/show/model_directory_summary.h"

#include <nlohmann/json.hpp>
#include <set>

#include "cli/show/numbers.h"
#include "runtime/base/check.h"
#include "runtime/files/files.h"
#include "serve/model_chain.h"
#include "train/checkpoint/version_folders.h"

namespace tessera::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Found {
  serve::ModelSpec spec;
  int64_t deltas = 0;  // on top of model.json
};

Found Load(const std::string& directory) {
  const std::string path = PathIn(directory, serve::kModelFile);
  const int64_t base = serve::ParseModelSpec(ReadTextFile(path), path).version;
  const serve::ModelSpec spec = serve::LoadServedModel(directory)->spec();
  return {spec, spec.version - base};
}

std::string Count(int64_t number) { return WithCommas(static_cast<double>(number)); }

std::string IdsOf(const serve::TableSpec& table) {
  if (table.raw_ids) return "any";
  return Count(table.num_ids());
}

int64_t BytesOf(const serve::ModelSpec& spec) {
  int64_t bytes = 0;
  for (const serve::TableSpec& table : spec.tables) bytes += table.nbytes();
  return bytes;
}

// "int8, f16": the codecs of the tables, each once.
std::string CodecsOf(const serve::ModelSpec& spec) {
  std::set<std::string> codecs;
  for (const serve::TableSpec& table : spec.tables) codecs.insert(ToString(table.codec));
  std::string text;
  for (const std::string& codec : codecs) text += (text.empty() ? "" : ", ") + codec;
  return text;
}

std::string TablesText(const serve::ModelSpec& spec) {
  std::vector<std::vector<std::string>> rows = {{"table", "ids", "rows", "dim", "codec", "size"}};
  for (const serve::TableSpec& table : spec.tables)
    rows.push_back({table.name, IdsOf(table), Count(table.rows), std::to_string(table.dim),
                    ToString(table.codec), Bytes(table.nbytes())});
  return TextTable(rows);
}

Json DirectoryJson(const Found& found) {
  Json json = {{"version", found.spec.version},
               {"deltas", found.deltas},
               {"dense_type", ToString(found.spec.dense_type)},
               {"tables", Json::array()}};
  for (const serve::TableSpec& table : found.spec.tables)
    json["tables"].push_back({{"name", table.name},
                              {"rows", table.rows},
                              {"dim", table.dim},
                              {"codec", ToString(table.codec)},
                              {"bytes", table.nbytes()},
                              {"features", table.features}});
  return json;
}

std::string VersionsText(const std::string& folder, const std::vector<VersionFolder>& versions) {
  std::vector<std::vector<std::string>> rows = {{"folder", "version", "deltas", "codecs", "size"}};
  serve::ModelSpec newest;
  for (const VersionFolder& version : versions) {
    const Found found = Load(version.path);
    rows.push_back({std::to_string(version.number), std::to_string(found.spec.version),
                    std::to_string(found.deltas), CodecsOf(found.spec),
                    Bytes(BytesOf(found.spec))});
    newest = found.spec;
  }
  return Format("{}\n{}\n{}: a folder of versions, of which {} is the newest; checksums good\n",
                TablesText(newest), TextTable(rows), folder, newest.version);
}

}  // namespace

std::string ModelDirectoryText(const std::string& directory) {
  if (const auto versions = VersionFoldersIn(directory); !versions.empty())
    return VersionsText(directory, versions);
  const auto [spec, deltas] = Load(directory);
  return Format(
      "{}\na model directory: version {}, {} after its weights; dense part as {}, checksums good\n",
      TablesText(spec), spec.version, Counted(deltas, "delta"), ToString(spec.dense_type));
}

std::string ModelDirectoryJson(const std::string& directory) {
  const std::vector<VersionFolder> versions = VersionFoldersIn(directory);
  if (versions.empty()) return DirectoryJson(Load(directory)).dump(2) + "\n";
  Json json = {{"versions", Json::array()}};
  for (const VersionFolder& version : versions)
    json["versions"].push_back(DirectoryJson(Load(version.path)));
  return json.dump(2) + "\n";
}

}  // namespace tessera::cli
