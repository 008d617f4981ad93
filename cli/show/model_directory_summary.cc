#include "cli/show/model_directory_summary.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "cli/show/error_text.h"
#include "cli/show/numbers.h"
#include "data/files/row_preparation.h"
#include "runtime/base/check.h"
#include "runtime/base/joined.h"
#include "runtime/files/files.h"
#include "serve/model_chain.h"
#include "serve/raw_id_map.h"
#include "serve/versions/bad_versions.h"
#include "train/checkpoint/version_folders.h"

namespace tessera::cli {
namespace {

using Json = nlohmann::ordered_json;

struct FoundModel {
  serve::ModelSpec spec;
  int64_t deltas = 0;  // on top of model.json
};

FoundModel Load(const std::string& directory) {
  const std::string path = PathIn(directory, serve::kModelFile);
  const int64_t base = serve::ParseModelSpec(ReadTextFile(path), path).version;
  const serve::ModelSpec spec = serve::LoadServedModel(directory)->spec();
  return {spec, spec.version - base};
}

std::string IdsOf(const serve::TableSpec& table) {
  if (table.raw_ids) return "any";
  return Count(table.num_ids());
}

int64_t BytesOf(const serve::ModelSpec& spec) {
  int64_t bytes = 0;
  for (const serve::TableSpec& table : spec.tables) bytes += StoredBytes(table);
  return bytes;
}

// "int8, f16": the codecs of the tables, each once.
std::string CodecsOf(const serve::ModelSpec& spec) {
  std::set<std::string> codecs;
  for (const serve::TableSpec& table : spec.tables) codecs.insert(ToString(table.codec));
  return internal::Joined(codecs);
}

std::string TablesText(const serve::ModelSpec& spec) {
  std::vector<std::vector<std::string>> rows = {{"table", "ids", "rows", "dim", "codec", "size"}};
  for (const serve::TableSpec& table : spec.tables)
    rows.push_back({table.name, IdsOf(table), Count(table.rows), std::to_string(table.dim),
                    ToString(table.codec), Bytes(StoredBytes(table))});
  return TextTable(rows);
}

// How the rows that it was trained on were prepared, where it says so.
std::string PreparedIn(const serve::ModelSpec& spec) {
  return spec.data ? spec.data->prepared : "";
}

Json DirectoryJson(const FoundModel& found) {
  Json json = {{"version", found.spec.version},
               {"deltas", found.deltas},
               {"dense_type", ToString(found.spec.dense_type)},
               {"tables", Json::array()}};
  if (const std::string prepared = PreparedIn(found.spec); !prepared.empty())
    json["prepared"] = prepared;
  for (const serve::TableSpec& table : found.spec.tables)
    json["tables"].push_back({{"name", table.name},
                              {"rows", table.rows},
                              {"dim", table.dim},
                              {"codec", ToString(table.codec)},
                              {"bytes", StoredBytes(table)},
                              {"features", table.features}});
  return json;
}

std::string DirectoryText(const FoundModel& found) {
  const auto& [spec, deltas] = found;
  const std::string trained =
      PreparedIn(spec).empty() ? "" : Format("trained on {}\n", PreparationText(PreparedIn(spec)));
  return Format(
      "{}\na model directory: version {}, {} after its weights; dense part as {}, checksums good\n"
      "{}",
      TablesText(spec), spec.version, Counted(deltas, "delta"), ToString(spec.dense_type), trained);
}

// The versions of a folder by the numbers of their folders; at least one is good.
struct FoundVersions {
  std::map<int64_t, FoundModel> good;
  std::vector<serve::BadVersion> bad;
};

FoundVersions LoadVersions(const std::string& folder, const std::vector<VersionFolder>& versions) {
  FoundVersions found;
  for (const VersionFolder& version : versions) try {
      found.good.emplace(version.number, Load(version.path));
    } catch (const Error& error) {
      found.bad.push_back({version.number, ErrorText(error)});
    }
  if (found.good.empty()) ThrowNoneIsGood(folder, found.bad);
  return found;
}

// "checksums good", or in how many, and which versions are bad.
std::string GoodText(const FoundVersions& versions) {
  if (versions.bad.empty()) return "checksums good";
  std::vector<int64_t> bad;
  for (const serve::BadVersion& version : versions.bad) bad.push_back(version.number);
  return Format("checksums good in {} of {}; bad: {}", versions.good.size(),
                Counted(std::ssize(versions.good) + std::ssize(versions.bad), "version"),
                internal::Joined(bad));
}

std::string VersionsText(const std::string& folder, const FoundVersions& versions) {
  std::vector<std::vector<std::string>> rows = {{"folder", "version", "deltas", "codecs", "size"}};
  for (const auto& [number, found] : versions.good)
    rows.push_back({std::to_string(number), std::to_string(found.spec.version),
                    std::to_string(found.deltas), CodecsOf(found.spec),
                    Bytes(BytesOf(found.spec))});
  for (const serve::BadVersion& version : versions.bad)
    rows.push_back({std::to_string(version.number), "cannot be loaded", "", "", ""});
  const serve::ModelSpec& newest = versions.good.rbegin()->second.spec;
  return Format("{}\n{}\n{}: a folder of versions, of which {} is the newest{}; {}\n",
                TablesText(newest), TextTable(rows), folder, newest.version,
                versions.bad.empty() ? "" : " of those that can be loaded", GoodText(versions));
}

std::string VersionsJson(const FoundVersions& versions) {
  Json json = {{"versions", Json::array()}};
  for (const auto& [number, found] : versions.good)
    json["versions"].push_back(DirectoryJson(found));
  for (const auto& [number, why] : versions.bad)
    json["bad_versions"].push_back({{"version", number}, {"error", why}});
  return json.dump(2) + "\n";
}

std::string FailureOf(const std::string& folder, const FoundVersions& versions) {
  if (versions.bad.empty()) return "";
  const std::string rollback = RollbackText(folder, versions.bad, versions.good.rbegin()->first);
  return Format("{}: {}{}{}", folder, BadVersionsText(versions.bad), rollback.empty() ? "" : "; ",
                rollback);
}

}  // namespace

int64_t StoredBytes(const serve::TableSpec& table) {
  return table.nbytes() + (table.raw_ids ? serve::RawIdMap::BytesFor(table.rows) : 0);
}

ModelDirectorySummary SummarizeModelDirectory(const std::string& directory, bool as_json) {
  const std::vector<VersionFolder> folders = VersionFoldersIn(directory);
  if (folders.empty()) {
    const FoundModel found = Load(directory);
    return {as_json ? DirectoryJson(found).dump(2) + "\n" : DirectoryText(found), ""};
  }
  const FoundVersions versions = LoadVersions(directory, folders);
  return {as_json ? VersionsJson(versions) : VersionsText(directory, versions),
          FailureOf(directory, versions)};
}

}  // namespace tessera::cli
