// A shard of a folder of rows, of a schema's or of Criteo's, with the checksums that its tensors
// have, so that what lies behind them is met: rows that are given out have ids of their tables. The
// first byte says which folder, and whether the rest is a whole file, or the bytes of tensors
// behind a good header.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <string_view>

#include "data/files/row_folder.h"
#include "runtime/files/checkpoint_checksums.h"
#include "runtime/files/files.h"
#include "runtime/files/safetensors.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/parsed_folder.h"
#include "tests/fuzz/temp_file.h"

namespace tessera::fuzz {
namespace {

constexpr char kTensorsAlone = 1, kOfClicks = 2;  // bits of the first byte

// Five rows of Criteo's columns in shards of three.
const std::string& ClickFolder() {
  static const std::string folder = [] {
    const std::string path = TempPath("clicks");
    RowFolderWriter writer(
        path, {.dense_columns = 2, .features = {{"cat_0", 10}, {"cat_1", 0}}, .shard_rows = 3});
    const float dense[] = {1, 2};
    const int64_t ids[] = {3, 1 << 20};
    for (int row = 0; row < 5; ++row) writer.Append({.label = 1, .dense = dense, .ids = ids});
    writer.Finish();
    return path;
  }();
  return folder;
}

// The first shard of a folder, whose bytes are replaced.
class Shard {
 public:
  explicit Shard(const std::string& folder)
      : folder_(folder),
        path_(PathIn(folder, RowShardName(0))),
        index_(nlohmann::json::parse(ReadTextFile(PathIn(folder, "index.json")))) {
    Context ctx({.threads = 1});
    const SafetensorsFile file(path_);
    Safetensors content;
    for (const auto& [name, entry] : file.entries()) content.tensors[name] = file.Read(ctx, entry);
    good_ = SafetensorsBytes(ctx, content);  // a header without a checksum of its own
    std::filesystem::remove(path_);
    std::filesystem::create_symlink(WriteTempFile(Name("shard"), good_), path_);
    const std::string index_path = PathIn(folder_, "index.json");
    std::filesystem::remove(index_path);
    std::filesystem::create_symlink(WriteTempFile(Name("index"), ""), index_path);
  }

  const std::string& good() const { return good_; }
  // The bytes before the tensors: a length of eight bytes and the header.
  size_t HeaderBytes() const {
    uint64_t length = 0;
    std::memcpy(&length, good_.data(), sizeof(length));
    return sizeof(length) + length;
  }
  std::string BehindGoodHeader(std::string_view tensors) const {
    std::string shard = good_.substr(0, HeaderBytes()) + std::string(tensors);
    shard.resize(good_.size());
    return shard;
  }

  // Replaces the shard, and the index as if the shard had been written so.
  void Write(std::string_view bytes) {
    WriteTempFile(Name("shard"), bytes);
    MayRefuse([&] { SetChecksums(bytes); });
    nlohmann::json index = index_;
    index.erase("crc32");
    WriteTempFile(Name("index"), index.dump(-1, ' ', true));
  }

 private:
  // A name of memory, of this folder alone.
  std::string Name(const std::string& what) const {
    return std::filesystem::path(folder_).filename().string() + "_" + what;
  }
  // Throws Error for no safetensors file.
  void SetChecksums(std::string_view bytes) {
    Context ctx({.threads = 1});
    const SafetensorsFile content(bytes, "shard");
    nlohmann::json& of_tensors = index_["shards"][0]["crc32"] = nlohmann::json::object();
    for (const auto& [name, entry] : content.entries()) {
      const Tensor tensor = content.Read(ctx, entry);
      Checksums checksums;
      checksums.Add(tensor.raw_data(), tensor.nbytes());
      of_tensors[name] = checksums.Finish();
    }
  }

  std::string folder_, path_, good_;
  nlohmann::json index_;
};

Shard& ShardOf(char first_byte) {
  static Shard parsed(ParsedFolder()), clicks(ClickFolder());
  return (first_byte & kOfClicks) != 0 ? clicks : parsed;
}

// Reads all rows, whose ids must be rows of their tables.
void GatherClicks() {
  static Context ctx({.threads = 1});
  constexpr int64_t kRows = 10;
  MayRefuse([] {
    const StoredRows rows(MapRowFolder(ClickFolder()), {{"cat_0", kRows}, {"cat_1", kRows}});
    std::vector<int64_t> all(static_cast<size_t>(rows.rows()));
    std::iota(all.begin(), all.end(), 0);
    for (const int32_t id : rows.Gather(ctx, all).features.values().ToVector<int32_t>())
      if (id < 0 || id >= kRows) __builtin_trap();
  });
}

std::string Seed(char first_byte) {
  const Shard& shard = ShardOf(first_byte);
  const size_t from = (first_byte & kTensorsAlone) != 0 ? shard.HeaderBytes() : 0;
  return first_byte + shard.good().substr(from);
}

}  // namespace

std::vector<std::string> Seeds() {
  return {Seed(0), Seed(kTensorsAlone), Seed(kOfClicks), Seed(kTensorsAlone | kOfClicks)};
}

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  if (size == 0) return 0;
  const auto first_byte = static_cast<char>(data[0]);
  const std::string_view rest = fuzz::AsText(data + 1, size - 1);
  fuzz::Shard& shard = fuzz::ShardOf(first_byte);
  shard.Write((first_byte & fuzz::kTensorsAlone) != 0 ? shard.BehindGoodHeader(rest)
                                                      : std::string(rest));
  if ((first_byte & fuzz::kOfClicks) != 0)
    fuzz::GatherClicks();
  else
    fuzz::GatherParsedFolder();
  return 0;
}
