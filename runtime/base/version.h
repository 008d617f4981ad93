#ifndef TESSERA_RUNTIME_BASE_VERSION_H_
#define TESSERA_RUNTIME_BASE_VERSION_H_

namespace tessera {

// The version of the project: tessera --version prints it, and tools/install gives it to packages.
inline constexpr char kVersion[] = "0.1.0";

}  // namespace tessera
#endif  // TESSERA_RUNTIME_BASE_VERSION_H_
