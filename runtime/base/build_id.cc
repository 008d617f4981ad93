#include "runtime/base/build_id.h"

#include <elf.h>
#include <link.h>

#include <cstdint>

namespace tessera {
namespace {

// The build id in notes: a note is a header of three words, then name and content, each filled up
// to 4 bytes.
std::string IdIn(const unsigned char* note, size_t size) {
  const auto padded = [](size_t n) { return (n + 3) / 4 * 4; };
  for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= size;) {
    const auto* header = reinterpret_cast<const ElfW(Nhdr)*>(note + at);
    const size_t content = at + sizeof *header + padded(header->n_namesz);
    if (header->n_type == NT_GNU_BUILD_ID && content + header->n_descsz <= size) {
      std::string digits;
      for (size_t i = 0; i < header->n_descsz; ++i)
        for (const int shift : {4, 0})
          digits += "0123456789abcdef"[note[content + i] >> shift & 15];
      return digits;
    }
    at = content + padded(header->n_descsz);
  }
  return "";
}

// Looks at the first object, which is the program.
int FindInProgram(dl_phdr_info* info, size_t, void* result) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const std::string id = IdIn(
        reinterpret_cast<const unsigned char*>(info->dlpi_addr + segment.p_vaddr), segment.p_memsz);
    if (!id.empty()) *static_cast<std::string*>(result) = id;
  }
  return 1;
}

}  // namespace

std::string BuildId() {
  std::string id = "unknown";
  dl_iterate_phdr(FindInProgram, &id);
  return id;
}

}  // namespace tessera
