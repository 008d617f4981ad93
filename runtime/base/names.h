#ifndef TESSERA_RUNTIME_BASE_NAMES_H_
#define TESSERA_RUNTIME_BASE_NAMES_H_
// Enumerations that count from 0, by their names.
#include <string>

#include "runtime/base/check.h"

namespace tessera::internal {

// The T called `name`. Throws Error, which lists the names, for anything else.
template <typename T, size_t N>
T ParseName(const std::string& name, const char* what, const char* const (&names)[N]) {
  std::string known;
  for (size_t i = 0; i < N; ++i) {
    if (name == names[i]) return static_cast<T>(i);
    known += (i == 0 ? "" : i + 1 == N ? " or " : ", ") + std::string(names[i]);
  }
  throw Error(Format("{} '{}': expected {}", what, name, known));
}

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_BASE_NAMES_H_
