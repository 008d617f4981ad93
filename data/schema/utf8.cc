#include "data/schema/utf8.h"

#include <simdjson.h>

namespace tessera::internal {

bool IsUtf8(std::string_view text) { return simdjson::validate_utf8(text.data(), text.size()); }

}  // namespace tessera::internal
