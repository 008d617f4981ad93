#include "tools/ptx/fat_binary.h"

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace ptx {
namespace {

constexpr uint32_t kMagic = 0xba55ed50;
constexpr uint16_t kPtx = 1;

template <typename T>
T Read(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace

std::string PtxOf(const void* data) {
  const char* begin = static_cast<const char*>(data);
  if (Read<uint32_t>(begin) != kMagic) throw std::runtime_error("PTX: not a fat binary of nvcc");
  const char* at = begin + Read<uint16_t>(begin + 6);
  const char* end = at + Read<uint64_t>(begin + 8);
  while (at < end) {
    const char* code = at + Read<uint32_t>(at + 4);
    const auto bytes = Read<uint64_t>(at + 8);
    if (Read<uint16_t>(at) == kPtx) {
      const std::string_view text(code, bytes);
      if (text.find(".version") == text.npos)
        throw std::runtime_error("PTX: it is compressed; nvcc wants --compress-mode=none");
      return std::string(text.substr(0, text.find('\0')));
    }
    at = code + bytes;
  }
  throw std::runtime_error("PTX: a fat binary without any; nvcc wants code=compute_90");
}

std::vector<std::string> PtxInObject(std::string_view bytes) {
  std::vector<std::string> all;
  const std::string_view magic(reinterpret_cast<const char*>(&kMagic), sizeof kMagic);
  for (size_t at = bytes.find(magic); at != bytes.npos; at = bytes.find(magic, at + 1))
    all.push_back(PtxOf(bytes.data() + at));
  return all;
}

}  // namespace ptx
