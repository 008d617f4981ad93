// A bad delta beside a good model; one that is taken is used by the next call.
#include "runtime/files.h"
#include "serve/export_tensors.h"
#include "serve/model_chain.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/served_model.h"

namespace tessera::fuzz {
namespace {

constexpr char kFolder[] = "delta_model";

const std::string& Directory() {
  static const std::string directory = MakeServedModel(kFolder);
  return directory;
}

// What makes version 2 of the model: row 3 of table b, and the dense part as it was.
std::string GoodDelta() {
  Context ctx({.threads = 1});
  serve::ModelSpec spec = SmallSpec();
  Safetensors weights = ReadSafetensors(ctx, PathIn(Directory(), spec.weights));
  StreamedSafetensors content;
  for (const NamedParameter& parameter : serve::MakeDensePart(ctx, spec)->Parameters())
    content.tensors[parameter.name] = Streamed(ctx, weights.tensors.at(parameter.name));
  spec.version = 2;
  const serve::TableSpec& table = spec.tables[1];
  content.tensors[serve::DeltaRowNumbersName(table)] =
      Streamed(ctx, Tensor::From<int64_t>(ctx, {3}));
  content.tensors[serve::DeltaRowBytesName(table)] =
      Streamed(ctx, Tensor::Zeros(ctx, {1, RowBytes(table.codec, table.dim)}, DType::kU8));
  content.metadata = {{serve::kDeltaKey, serve::kDeltaFormat},
                      {serve::kDeltaModelKey, ToJson(spec)},
                      {serve::kFollowsKey, ""}};
  const std::string path = TempPath("good_delta");
  serve::WriteModelFile(path, content);
  return ReadTextFile(path);
}

}  // namespace

std::vector<std::string> Seeds() { return {GoodDelta()}; }

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  const std::string& directory = fuzz::Directory();
  fuzz::WriteTempFile(std::string(fuzz::kFolder) + "/" + serve::DeltaFileName(2),
                      fuzz::AsText(data, size));
  fuzz::MayRefuse([&] { serve::LoadServedModel(directory); });
  return 0;
}
