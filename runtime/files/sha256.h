#ifndef TESSERA_RUNTIME_FILES_SHA256_H_
#define TESSERA_RUNTIME_FILES_SHA256_H_
// SHA-256 (FIPS 180-4), the name of a file's content that other tools print, too (sha256sum).
#include <string>
#include <string_view>

namespace tessera {

// 64 hexadecimal digits.
std::string Sha256(std::string_view bytes);

}  // namespace tessera
#endif  // TESSERA_RUNTIME_FILES_SHA256_H_
