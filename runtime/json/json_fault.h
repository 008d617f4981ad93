#ifndef TESSERA_RUNTIME_JSON_JSON_FAULT_H_
#define TESSERA_RUNTIME_JSON_JSON_FAULT_H_
// Where a text stops being JSON, for errors of those who read JSON by another parser.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tessera::internal {

struct JsonFault {
  size_t column = 0;  // bytes up to and with the one that is wrong; one more than all at the end
  std::string what;   // "unexpected end of input; expected '}'"
};

// The first fault of the syntax; nullopt where the text is JSON. Takes memory for one token.
std::optional<JsonFault> FindJsonFault(std::string_view text);

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_JSON_JSON_FAULT_H_
