#ifndef TESSERA_TESTS_FUZZ_PARSED_FOLDER_H_
#define TESSERA_TESTS_FUZZ_PARSED_FOLDER_H_
// A folder of a schema's rows for the targets that read one.
#include <numeric>
#include <string>
#include <vector>

#include "data/files/bag_folder.h"
#include "data/files/row_folder_index.h"
#include "data/preprocess/parse_rows.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/temp_file.h"

namespace tessera::fuzz {

// Five rows in shards of three, with bags and their weights.
inline const std::string& ParsedFolder() {
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

// Reads all rows of the folder, whose ids must be rows of their tables.
inline void GatherParsedFolder() {
  static Context ctx({.threads = 1});
  MayRefuse([] {
    const RowFolderIndex index = ReadRowFolderIndex(ParsedFolder());
    if (index.schema == nullptr) return;
    const StoredBags rows = MapBagFolders({ParsedFolder()}, *index.schema, index.features);
    std::vector<int64_t> all(static_cast<size_t>(rows.rows()));
    std::iota(all.begin(), all.end(), 0);
    const Batch batch = rows.Gather(ctx, all);
    for (const CategoricalFeature& feature : index.features)
      for (const int64_t id : batch.features.At(ctx, feature.name)
                                  .values()
                                  .value()
                                  .To(ctx, DType::kI64)
                                  .ToVector<int64_t>())
        if (feature.rows > 0 && (id < 0 || id >= feature.rows)) __builtin_trap();
  });
}

}  // namespace tessera::fuzz
#endif  // TESSERA_TESTS_FUZZ_PARSED_FOLDER_H_
