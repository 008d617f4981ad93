// A checkpoint's file and its metadata: bytes of a safetensors file, or, if the first byte is odd,
// pairs of lines that become its metadata; unchanged, and with correct checksums.
#include "runtime/files/files.h"
#include "tests/fuzz/checksums.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/temp_file.h"
#include "train/checkpoint/checkpoint.h"

namespace tessera::fuzz {
namespace {

std::string WithMetadata(std::map<std::string, std::string> metadata) {
  Context ctx({.threads = 1});
  return SafetensorsBytes(ctx, {.tensors = {{"model.w", Tensor::Zeros(ctx, {4, 6})},
                                            {"optimizer.w.momentum1", Tensor::Zeros(ctx, {4})}},
                                .metadata = std::move(metadata)});
}

// A checkpoint as it is written, with checksums of tensors and header.
std::string Sealed(const std::map<std::string, std::string>& metadata) {
  Context ctx({.threads = 1});
  const SafetensorsChecksum checksum = CheckpointChecksum();
  const std::string path = TempPath("sealed");
  WriteSafetensors(ctx, path,
                   {.tensors = {{"model.w", Tensor::Zeros(ctx, {4, 6})}}, .metadata = metadata},
                   &checksum);
  return ReadTextFile(path);
}

std::map<std::string, std::string> PairsOfLines(std::string_view text) {
  std::map<std::string, std::string> pairs;
  std::vector<std::string> lines(1);
  for (const char c : text) {
    if (c == '\n')
      lines.emplace_back();
    else if (static_cast<unsigned char>(c) < 0x80)  // JSON strings are UTF-8
      lines.back() += c;
  }
  for (size_t i = 0; i + 1 < lines.size(); i += 2) pairs[lines[i]] = lines[i + 1];
  return pairs;
}

}  // namespace

std::vector<std::string> Seeds() {
  const TrainingProgress progress{.epoch = 1, .row = 20, .step = 300, .iter = 300, .seed = 5};
  std::string lines = "\x01";
  const auto metadata = CheckpointMetadata(progress, "{}");
  for (const auto& [key, value] : metadata) lines += key + "\n" + value + "\n";
  const std::string bare = WithMetadata(metadata);
  return {'\0' + bare, '\0' + WithItsChecksums(bare), '\0' + Sealed(metadata), lines};
}

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  if (size == 0) return 0;
  const std::string_view rest = fuzz::AsText(data + 1, size - 1);
  const std::string bytes =
      data[0] % 2 == 0 ? std::string(rest) : fuzz::WithMetadata(fuzz::PairsOfLines(rest));
  const auto read = [](const std::string& file) {
    ReadCheckpoint(fuzz::WriteTempFile("checkpoint", file));
  };
  fuzz::MayRefuse([&] { read(bytes); });
  fuzz::MayRefuse([&] { read(fuzz::WithItsChecksums(bytes)); });
  return 0;
}
