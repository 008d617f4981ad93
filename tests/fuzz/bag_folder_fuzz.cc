// The index of a folder of a schema's rows, over shards that are good.
#include <numeric>

#include "data/files/bag_folder.h"
#include "data/files/row_folder_index.h"
#include "data/preprocess/parse_rows.h"
#include "runtime/files/files.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/temp_file.h"

namespace tessera::fuzz {
namespace {

const std::string& Folder() {
  static const std::string folder = [] {
    const std::string path = TempPath("parsed");
    std::string text;
    for (int row = 0; row < 5; ++row)
      text += Format("{{\"x\": {}, \"y\": 1, \"seen\": [{}], \"how\": [{}]}}\n", row,
                     row % 2 ? "3, 4" : "", row % 2 ? "0.5, 2" : "");
    ParseRows({.inputs = {WriteTempFile("text.jsonl", text)},
               .output = path,
               .schema = ParseDataSchema(R"({"format": "jsonl", "dense": ["x"], "labels": ["y"],
                 "features": [{"name": "seen", "weights": "how"}]})"),
               .features = {{"seen", 10}, {"x", 7}},
               .threads = 1,
               .shard_rows = 3});
    return path;
  }();
  return folder;
}

}  // namespace

std::vector<std::string> Seeds() {
  const std::string sealed = ReadTextFile(PathIn(Folder(), "index.json"));
  return {sealed, sealed.substr(0, sealed.rfind(",\n \"crc32\"")) + "\n}"};
}

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  static Context ctx({.threads = 1});
  fuzz::WriteFolderIndex(fuzz::Folder(), fuzz::AsText(data, size));
  fuzz::MayRefuse([&] {
    const RowFolderIndex index = ReadRowFolderIndex(fuzz::Folder());
    if (index.schema == nullptr) return;
    const StoredBags rows = MapBagFolders({fuzz::Folder()}, *index.schema, index.features);
    std::vector<int64_t> all(static_cast<size_t>(rows.rows()));
    std::iota(all.begin(), all.end(), 0);
    rows.Gather(ctx, all);
  });
  return 0;
}
