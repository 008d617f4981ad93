#include "runtime/json/utf8.h"

#include <simdjson.h>

#include "runtime/json/json_object.h"

namespace tessera::internal {

bool IsUtf8(std::string_view text) { return simdjson::validate_utf8(text.data(), text.size()); }

std::string AsUtf8(const std::string& text) {
  if (IsUtf8(text)) return text;
  const std::string quoted = Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  return ParseJson(quoted).get<std::string>();
}

}  // namespace tessera::internal
