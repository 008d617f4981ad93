#ifndef TESSERA_RUNTIME_BASE_BUILD_ID_H_
#define TESSERA_RUNTIME_BASE_BUILD_ID_H_
// Which build of a program runs.
#include <string>

namespace tessera {

// The linker's identity of the running program, in hexadecimal digits: equal for equal builds,
// different for any other. "unknown" for a program linked without --build-id.
std::string BuildId();

}  // namespace tessera
#endif  // TESSERA_RUNTIME_BASE_BUILD_ID_H_
