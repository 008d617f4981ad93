// Rows as they are before a model makes numbers of them, from the body of a request and from the
// file of a warm-up: what is understood is predicted. The first byte says which, and how strictly.
#include "serve/predictor.h"
#include "serve/raw_rows.h"
#include "serve/warm_up.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/served_model.h"

namespace tessera::fuzz {
namespace {

constexpr char kSchema[] = R"({"format": "csv", "columns": ["y", "d", "a", "t"],
  "dense": [{"name": "x", "from": "d", "transform": "log1p"}],
  "features": [{"name": "u", "from": "a", "separator": "|", "max_length": 4, "weight_after": ":"},
               {"name": "v", "from": "t", "ids": "text", "missing": "row0"},
               {"name": "w", "from": "a", "separator": "|", "vocabulary": ["1", "2", "x"],
                "weights": "k"}],
  "labels": ["y"]})";

// Ids come with weights.
serve::Predictor& Model() {
  static serve::Predictor predictor([] {
    serve::ModelSpec spec = SmallSpec();
    spec.net.position_weights = {};
    spec.net.weighted = true;
    spec.data = DataConfig{.format = DataFormat::kCsv,
                           .schema = std::make_shared<const DataSchema>(ParseDataSchema(kSchema))};
    return MakeServedModel("model", spec);
  }());
  return predictor;
}

}  // namespace

std::vector<std::string> Seeds() {
  const std::string rows =
      "{\"d\": 2.5, \"a\": [\"1:0.5\", \"7:2\"], \"t\": \"shoe\", \"k\": [1, 2]}\n"
      "{\"d\": \"3\", \"a\": \"2:1|1:0\", \"t\": null, \"k\": [0.25, -1], \"z\": {\"q\": [[]]}}\n"
      "{}\n";
  return {'\0' + rows, '\1' + rows, '\2' + rows};
}

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  if (size == 0) return 0;
  serve::Predictor& predictor = fuzz::Model();
  static const serve::RawRows rows(predictor.model()->spec());
  const std::string_view text = fuzz::AsText(data + 1, size - 1);
  fuzz::MayRefuse([&] {
    if (data[0] % 4 == 2)
      RunWarmUp({.requests = 1, .rows_file = fuzz::WriteTempFile("warm_up.jsonl", text)},
                *predictor.model());
    else
      predictor.Predict(rows.Read(text, "body", /*strict=*/data[0] % 2 == 1));
  });
  return 0;
}
