// Archives of numpy.savez: every array that is given out can be read.
#include <cstring>

#include "data/files/npz.h"
#include "tests/data/testing/npz_bytes.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/temp_file.h"

namespace tessera::fuzz {

std::vector<std::string> Seeds() {
  const std::string ids = testing::NpyBytes("<i4", "(2, 3)", std::string(24, '\1'));
  return {testing::NpzBytes(
      {{"0", ids}, {"user", testing::NpyBytes("<i8", "(2,)", std::string(16, '\2'))}})};
}

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  const std::string path = fuzz::WriteTempFile("npz", fuzz::AsText(data, size));
  fuzz::MayRefuse([&] {
    const NpzFile file(path);
    for (const std::string& name : file.names())
      fuzz::MayRefuse([&] {
        const Tensor array = file.Array(name);
        std::string bytes(static_cast<size_t>(array.nbytes()), '\0');
        if (!bytes.empty()) std::memcpy(bytes.data(), array.raw_data(), bytes.size());
        if (bytes.size() > size) __builtin_trap();
      });
  });
  return 0;
}
