#ifndef TESSERA_TESTS_FUZZ_CHECKSUMS_H_
#define TESSERA_TESTS_FUZZ_CHECKSUMS_H_
// Files whose checksums are right although their contents are bad: what lies behind the checks.
#include <string>
#include <string_view>

#include "runtime/files/safetensors.h"
#include "train/checkpoint/checkpoint.h"

namespace tessera::fuzz {

// A safetensors file with the checksum that its tensors have, and none of its header, so that what
// lies behind these checks is met, too.
inline std::string WithItsChecksums(std::string_view bytes) {
  Context ctx({.threads = 1});
  const SafetensorsFile file(bytes, "bytes");
  const SafetensorsChecksum checksum = CheckpointChecksum();
  Safetensors content{.tensors = {}, .metadata = file.metadata()};
  uint32_t crc = 0;
  for (const auto& [name, entry] : file.entries()) {
    const Tensor tensor = file.Read(ctx, entry);
    crc = checksum.update(crc, tensor.raw_data(), tensor.nbytes());
    content.tensors.emplace(name, tensor);
  }
  content.metadata[checksum.key] = std::to_string(crc);
  content.metadata.erase("header_crc32");
  return SafetensorsBytes(ctx, content);
}

}  // namespace tessera::fuzz
#endif  // TESSERA_TESTS_FUZZ_CHECKSUMS_H_
