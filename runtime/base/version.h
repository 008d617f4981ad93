#ifndef TESSERA_RUNTIME_BASE_VERSION_H_
#define TESSERA_RUNTIME_BASE_VERSION_H_

namespace tessera {

// Of the project: what tessera --version prints, and tools/install gives to packages.
inline constexpr char kVersion[] = "0.1.0";

}  // namespace tessera
#endif  // TESSERA_RUNTIME_BASE_VERSION_H_
