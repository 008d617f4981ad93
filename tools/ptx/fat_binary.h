#ifndef TESSERA_TOOLS_PTX_FAT_BINARY_H_
#define TESSERA_TOOLS_PTX_FAT_BINARY_H_
// nvcc's containers of code for several architectures. One begins with a header of 16 bytes (magic,
// version, bytes of the header, bytes of what follows); each entry has a head (kind, version, bytes
// of the head, bytes of the code) before its code. Kind 1 is PTX, as text unless compressed.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ptx {

// The PTX of the container that begins at `data`. Throws std::runtime_error if there is none, or
// if it is compressed.
std::string PtxOf(const void* data);

// The PTX of each container in the bytes of an object file.
std::vector<std::string> PtxInObject(std::string_view bytes);

}  // namespace ptx
#endif  // TESSERA_TOOLS_PTX_FAT_BINARY_H_
