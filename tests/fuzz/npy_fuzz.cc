// Headers of npy files, and files that hold no more than one.
#include <cstring>

#include "data/files/npy.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/temp_file.h"

namespace tessera::fuzz {

std::vector<std::string> Seeds() {
  const std::string magic = "\x93NUMPY";
  return {magic + std::string("\1\0\x3f\0", 4) +
              "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 13), }  \n",
          magic + std::string("\2\0\x3d\0\0\0", 6) +
              "{'shape': (1,), 'descr': '<i8', 'fortran_order': False}     \n" +
              std::string(8, 'x')};
}

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  const std::string path = fuzz::WriteTempFile("npy", fuzz::AsText(data, size));
  fuzz::MayRefuse([&] {
    const Tensor tensor = MapNpy(path);
    std::string bytes(static_cast<size_t>(tensor.nbytes()), '\0');  // all can be read
    if (!bytes.empty()) std::memcpy(bytes.data(), tensor.raw_data(), bytes.size());
    if (bytes.size() > size) __builtin_trap();
  });
  return 0;
}
