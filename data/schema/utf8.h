#ifndef TESSERA_DATA_SCHEMA_UTF8_H_
#define TESSERA_DATA_SCHEMA_UTF8_H_
// Whether bytes are UTF-8, which a document of JSON needs.
#include <string_view>

namespace tessera::internal {

bool IsUtf8(std::string_view text);

}  // namespace tessera::internal
#endif  // TESSERA_DATA_SCHEMA_UTF8_H_
