#include "runtime/json/json_seal.h"

#include "runtime/base/checksums.h"

namespace tessera::internal {
namespace {

constexpr char kSeal[] = "crc32";

}  // namespace

Json Sealed(Json document) {
  document[kSeal] = Crc32TextOf(document.dump());
  return document;
}

void CheckSeal(const Json& document, JsonObject& reader) {
  const Json* const seal = reader.Find(kSeal);
  if (seal == nullptr) return;
  Json content = document;
  content.erase(kSeal);
  const std::string found = Crc32TextOf(content.dump());
  if (*seal != found)
    throw Error(
        Format("it was changed, or is corrupt: its values have the checksum {}, and \"{}\" says {}",
               found, kSeal, seal->dump()));
}

}  // namespace tessera::internal
