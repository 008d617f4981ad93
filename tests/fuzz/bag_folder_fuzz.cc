// The index of a folder of a schema's rows, over shards that are good.
#include "runtime/files/files.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/parsed_folder.h"
#include "tests/fuzz/temp_file.h"

namespace tessera::fuzz {

std::vector<std::string> Seeds() {
  const std::string sealed = ReadTextFile(PathIn(ParsedFolder(), "index.json"));
  return {sealed, sealed.substr(0, sealed.rfind(",\n \"crc32\"")) + "\n}"};
}

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  fuzz::WriteFolderIndex(fuzz::ParsedFolder(), fuzz::AsText(data, size));
  fuzz::GatherParsedFolder();
  return 0;
}
