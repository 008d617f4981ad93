#ifndef TESSERA_RUNTIME_JSON_JSON_SEAL_H_
#define TESSERA_RUNTIME_JSON_JSON_SEAL_H_
// A document with a checksum of itself: "crc32", its last key, is the CRC-32 of the document
// without that key, as Json::dump() writes it. Blanks between its values do not count. Documents
// from before there was one lack it.
//
// For .cc files and private headers: public ones include no JSON.
#include "runtime/json/json_object.h"

namespace tessera::internal {

// The document with its checksum. REQUIRES: an object without one.
Json Sealed(Json document);

// Throws Error for a document that is not what its checksum says, and makes the key known to its
// reader.
void CheckSeal(const Json& document, JsonObject& reader);

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_JSON_JSON_SEAL_H_
