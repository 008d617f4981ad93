#include "runtime/checksums.h"

#include <zlib.h>

#include "runtime/check.h"

namespace tessera {

uint32_t Crc32(uint32_t so_far, const void* bytes, int64_t count) {
  return static_cast<uint32_t>(
      crc32_z(so_far, static_cast<const Bytef*>(bytes), static_cast<size_t>(count)));
}

std::string Crc32Text(uint32_t crc) { return Format("{:08x}", crc); }

std::string Crc32TextOf(std::string_view bytes) {
  return Crc32Text(Crc32(0, bytes.data(), std::ssize(bytes)));
}

}  // namespace tessera
