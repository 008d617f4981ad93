// A model directory: a bad model.json beside good weights, or, if the first byte is odd, the other
// way round; unchanged, and with the correct checksum of the tensors. One that loads is asked.
#include "runtime/files/files.h"
#include "serve/model_chain.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/served_model.h"

namespace tessera::fuzz {
namespace {

struct Parts {
  std::string directory, json, weights;
};

const Parts& Good() {
  static const Parts parts = [] {
    const std::string directory = MakeServedModel("model");
    return Parts{directory, ReadTextFile(PathIn(directory, "model.json")),
                 ReadTextFile(PathIn(directory, "weights-1.safetensors"))};
  }();
  return parts;
}

}  // namespace

std::vector<std::string> Seeds() {
  return {'\0' + Good().json, '\x01' + Good().weights, '\x01' + WithItsChecksums(Good().weights)};
}

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  if (size == 0) return 0;
  const fuzz::Parts& good = fuzz::Good();
  const std::string_view rest = fuzz::AsText(data + 1, size - 1);
  const bool bad_weights = data[0] % 2 != 0;
  fuzz::WriteTempFile("model/model.json", bad_weights ? good.json : rest);
  fuzz::WriteTempFile("model/weights-1.safetensors", bad_weights ? rest : good.weights);
  const auto ask = [&] { fuzz::Ask(*serve::LoadServedModel(good.directory)); };
  fuzz::MayRefuse(ask);
  if (!bad_weights) return 0;
  fuzz::MayRefuse([&] {
    fuzz::WriteTempFile("model/weights-1.safetensors", fuzz::WithItsChecksums(rest));
    ask();
  });
  return 0;
}
