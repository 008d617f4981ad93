// The index of a folder of rows, over shards that are good.
#include "data/files/row_folder.h"
#include "runtime/files/files.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/temp_file.h"

namespace tessera::fuzz {
namespace {

const std::string& Folder() {
  static const std::string folder = [] {
    const std::string path = TempPath("rows");
    RowFolderWriter writer(path, {.dense_columns = 2,
                                  .features = {{"cat_0", 10}},
                                  .shard_rows = 3,
                                  .made = {{"dense", "log1p"}}});
    const float dense[] = {1, 2};
    const int64_t ids[] = {3};
    for (int row = 0; row < 5; ++row) writer.Append({.label = 1, .dense = dense, .ids = ids});
    writer.Finish();
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
    const StoredRows rows(MapRowFolder(fuzz::Folder()), {{"cat_0", 10}});
    std::vector<int64_t> all;
    for (int64_t row = 0; row < rows.rows(); ++row) all.push_back(row);
    rows.Gather(ctx, all);
  });
  return 0;
}
