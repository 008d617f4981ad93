// A safetensors file: unchanged, or, if the first byte is odd, the rest as a header with its length
// before it and some data behind.
#include <cstring>

#include "runtime/files/safetensors.h"
#include "tests/fuzz/fuzz.h"

namespace tessera::fuzz {
namespace {

constexpr size_t kDataBytes = 128;

std::string WithLength(std::string_view header) {
  const uint64_t length = header.size();
  std::string file(sizeof length, '\0');
  std::memcpy(file.data(), &length, sizeof length);
  return file.append(header) + std::string(kDataBytes, '\x01');
}

void ReadAll(std::string_view bytes) {
  const SafetensorsFile file(bytes, "input");
  Context ctx({.threads = 1});
  int64_t data = 0;
  for (const auto& [name, entry] : file.entries()) data += file.Read(ctx, entry).nbytes();
  if (data > static_cast<int64_t>(bytes.size())) __builtin_trap();
}

}  // namespace

std::vector<std::string> Seeds() {
  Context ctx({.threads = 1});
  const std::string file = SafetensorsBytes(
      ctx,
      {.tensors = {{"a", Tensor::Zeros(ctx, {4, 6})}, {"b", Tensor::Zeros(ctx, {32}, DType::kU8)}},
       .metadata = {{"step", "5"}}});
  uint64_t header = 0;
  std::memcpy(&header, file.data(), sizeof header);
  return {'\0' + file, '\x01' + file.substr(sizeof header, header)};
}

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera::fuzz;
  if (size == 0) return 0;
  const std::string_view rest = AsText(data + 1, size - 1);
  if (data[0] % 2 == 0)
    MayRefuse([&] { ReadAll(rest); });
  else
    MayRefuse([&] { ReadAll(WithLength(rest)); });
  return 0;
}
