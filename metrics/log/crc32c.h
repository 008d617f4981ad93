#ifndef TESSERA_METRICS_LOG_CRC32C_H_
#define TESSERA_METRICS_LOG_CRC32C_H_
// CRC-32C (Castagnoli), as TFRecord files have it: polynomial 0x1edc6f41, reflected, begun and
// ended with all ones.
#include <cstdint>
#include <string_view>

namespace tessera {

uint32_t Crc32c(std::string_view bytes);

// Rotated right by 15 bits, plus 0xa282ead8: a checksum that may itself be checksummed.
uint32_t MaskedCrc32c(std::string_view bytes);

}  // namespace tessera
#endif  // TESSERA_METRICS_LOG_CRC32C_H_
