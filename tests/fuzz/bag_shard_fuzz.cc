// A shard of a folder of a schema's rows, with the checksums that its tensors have, so that what
// lies behind them is met: rows that are given out have ids of their tables. The first byte says
// whether the rest is a whole file, or the bytes of tensors behind a good header.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "runtime/files/checkpoint_checksums.h"
#include "runtime/files/files.h"
#include "runtime/files/safetensors.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/parsed_folder.h"
#include "tests/fuzz/temp_file.h"

namespace tessera::fuzz {
namespace {

const std::string& GoodIndexText() {
  static const std::string text = ReadTextFile(PathIn(ParsedFolder(), "index.json"));
  return text;
}

std::string ShardPath() { return PathIn(ParsedFolder(), RowShardName(0)); }

// The first shard, whose header has no checksum of its own.
const std::string& GoodShard() {
  static const std::string bytes = [] {
    Context ctx({.threads = 1});
    const SafetensorsFile file(ShardPath());
    Safetensors content;
    for (const auto& [name, entry] : file.entries()) content.tensors[name] = file.Read(ctx, entry);
    return SafetensorsBytes(ctx, content);
  }();
  return bytes;
}

// The bytes of a safetensors file before its tensors: a length of eight bytes and the header.
size_t HeaderBytes() {
  uint64_t length = 0;
  std::memcpy(&length, GoodShard().data(), sizeof(length));
  return sizeof(length) + length;
}

std::string ShardOf(std::string_view input) {
  if (input.empty() || input[0] == 0)
    return std::string(input.substr(std::min<size_t>(input.size(), 1)));
  std::string shard = GoodShard().substr(0, HeaderBytes()) + std::string(input.substr(1));
  shard.resize(GoodShard().size());
  return shard;
}

// The first shard becomes these bytes: a link to memory.
void WriteShard(std::string_view bytes) {
  const std::string file = WriteTempFile("shard", bytes);
  static bool linked = false;
  if (linked) return;
  std::filesystem::remove(ShardPath());
  std::filesystem::create_symlink(file, ShardPath());
  linked = true;
}

// Makes the index as if the shard had been written so, without a checksum of its own. Throws Error
// for no safetensors file.
void WriteIndexOf(std::string_view bytes) {
  static nlohmann::json index = nlohmann::json::parse(GoodIndexText());
  Context ctx({.threads = 1});
  const SafetensorsFile content(bytes, "shard");
  nlohmann::json& of_tensors = index["shards"][0]["crc32"] = nlohmann::json::object();
  for (const auto& [name, entry] : content.entries()) {
    const Tensor tensor = content.Read(ctx, entry);
    Checksums checksums;
    checksums.Add(tensor.raw_data(), tensor.nbytes());
    of_tensors[name] = checksums.Finish();
  }
  index.erase("crc32");
  WriteFolderIndex(ParsedFolder(), index.dump(-1, ' ', true));
}

}  // namespace

std::vector<std::string> Seeds() {
  return {'\0' + GoodShard(), '\1' + GoodShard().substr(HeaderBytes())};
}

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  const std::string shard = fuzz::ShardOf(fuzz::AsText(data, size));
  fuzz::WriteShard(shard);
  fuzz::MayRefuse([&] { fuzz::WriteIndexOf(shard); });
  fuzz::GatherParsedFolder();
  return 0;
}
