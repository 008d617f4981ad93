// A bad delta beside a good model: unchanged, and with the correct crc32 of its tensors, so that
// the code behind that check is met, too. A model that takes it is asked.
#include "runtime/files/files.h"
#include "serve/export/export_tensors.h"
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

std::shared_ptr<const serve::ServedModel> WithDelta(std::string_view bytes) {
  const std::string& directory = Directory();
  WriteTempFile(PathIn(kFolder, serve::DeltaFileName(2)), bytes);
  return serve::LoadServedModel(directory);
}

// The delta that makes version 2 of the model: rows 3 and 6 of table b, which has a row more, and
// two of its ids; the dense part is unchanged.
std::string GoodDelta() {
  Context ctx({.threads = 1});
  serve::ModelSpec spec = SmallSpec();
  const Safetensors weights = ReadSafetensors(ctx, PathIn(Directory(), spec.weights));
  StreamedSafetensors content;
  const auto add = [&](const std::string& name, const Tensor& tensor) {
    serve::AddPadded(content, name, Streamed(ctx, tensor));
  };
  for (const NamedParameter& parameter : serve::DensePart(ctx, spec).Parameters())
    add(parameter.name, weights.tensors.at(parameter.name));
  spec.version = 2;
  serve::TableSpec& table = spec.tables[1];
  ++table.rows;
  add(serve::DeltaRowNumbersName(table), Tensor::From<int64_t>(ctx, {3, 6}));
  add(serve::DeltaRowBytesName(table),
      Tensor::Zeros(ctx, {2, RowBytes(table.codec, table.dim)}, DType::kU8));
  add(serve::DeltaRemovedIdsName(table), Tensor::From<int64_t>(ctx, {6}));
  add(serve::DeltaSetIdsName(table), Tensor::From(ctx, {1, 2}, std::vector<int64_t>{-7, 5}));
  content.metadata = {{serve::kDeltaKey, serve::kDeltaFormat},
                      {serve::kDeltaModelKey, ToJson(spec)},
                      {serve::kFollowsKey, weights.metadata.at(CheckpointChecksum().key)}};
  const std::string path = TempPath("good_delta");
  serve::WriteModelFile(path, content);
  return ReadTextFile(path);
}

}  // namespace

std::vector<std::string> Seeds() {
  const std::string good = GoodDelta();
  const std::vector<std::string> seeds = {good, WithItsChecksums(good)};
  for (const std::string& delta : seeds)
    TESSERA_CHECK_EQ(WithDelta(delta)->spec().version, 2, "the version of a good delta");
  return seeds;
}

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  const std::string_view bytes = fuzz::AsText(data, size);
  fuzz::MayRefuse([&] { fuzz::Ask(*fuzz::WithDelta(bytes)); });
  fuzz::MayRefuse([&] { fuzz::Ask(*fuzz::WithDelta(fuzz::WithItsChecksums(bytes))); });
  return 0;
}
