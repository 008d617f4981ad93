#include "runtime/json/json_fields.h"

namespace tessera::internal {

void CheckVersion(JsonObject& object, const char* key, int64_t version) {
  int64_t found = 0;
  object.Required(key, found);
  if (found != version)
    throw Error(
        Format("{}: this library reads version {}, got {}", object.at(key), version, found));
}

std::string FieldALine(const Json& object) {
  std::string text = "{";
  const char* separator = "\n  ";
  for (const auto& [key, value] : object.items()) {
    text += separator + Json(key).dump() + ": " + value.dump();
    separator = ",\n  ";
  }
  return text + "\n}\n";
}

}  // namespace tessera::internal
