#include "cli/show/model_directory_summary.h"

#include <nlohmann/json.hpp>

#include "cli/show/numbers.h"
#include "runtime/base/check.h"
#include "runtime/files/files.h"
#include "serve/model_chain.h"

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

}  // namespace

std::string ModelDirectoryText(const std::string& directory) {
  const auto [spec, deltas] = Load(directory);
  std::vector<std::vector<std::string>> rows = {{"table", "ids", "rows", "dim", "codec", "size"}};
  for (const serve::TableSpec& table : spec.tables)
    rows.push_back({table.name, IdsOf(table), Count(table.rows), std::to_string(table.dim),
                    ToString(table.codec), Bytes(table.nbytes())});
  return Format(
      "{}\na model directory: version {}, {} {} after its weights; dense part as {}, checksums "
      "good\n",
      TextTable(rows), spec.version, deltas, deltas == 1 ? "delta" : "deltas",
      ToString(spec.dense_type));
}

std::string ModelDirectoryJson(const std::string& directory) {
  const auto [spec, deltas] = Load(directory);
  Json json = {{"version", spec.version},
               {"deltas", deltas},
               {"dense_type", ToString(spec.dense_type)},
               {"tables", Json::array()}};
  for (const serve::TableSpec& table : spec.tables)
    json["tables"].push_back({{"name", table.name},
                              {"rows", table.rows},
                              {"dim", table.dim},
                              {"codec", ToString(table.codec)},
                              {"bytes", table.nbytes()},
                              {"features", table.features}});
  return json.dump(2) + "\n";
}

}  // namespace tessera::cli
