// The body of an inference request, in each of its forms: the first byte says which, and, times 8,
// how long the JSON is. A request that is understood is predicted.
#include "runtime/files/safetensors.h"
#include "serve/http/inference_protocol.h"
#include "serve/predictor.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/served_model.h"

namespace tessera::fuzz {
namespace {

// Ids come with weights.
serve::Predictor& Model() {
  static serve::Predictor predictor([] {
    serve::ModelSpec spec = SmallSpec();
    spec.net.position_weights = {};
    spec.net.weighted = true;
    return MakeServedModel("model", spec);
  }());
  return predictor;
}

std::string JsonOf(const std::string& v) {
  return R"({"id": "1", "inputs": [
    {"name": "dense", "shape": [2, 1], "datatype": "FP32", "data": [[0.5], [1e3]]},
    {"name": "u", "shape": [2], "datatype": "INT64", "data": [3, -4]},
    {"name": "w", "shape": [2], "datatype": "INT64", "data": [6, 5]}, )" +
         v + R"(], "outputs": [{"name": "score"}]})";
}

}  // namespace

std::vector<std::string> Seeds() {
  Context ctx({.threads = 1});
  std::string binary = JsonOf(
      R"({"name": "v", "shape": [2], "datatype": "INT64", "parameters": {"binary_data_size": 16}})");
  binary.resize((binary.size() + 7) / 8 * 8, ' ');
  const auto eighths = static_cast<char>(binary.size() / 8 * 3 % 256);
  return {
      "\x02" + JsonOf(R"({"name": "v", "shape": [3], "datatype": "INT32", "data": [1, 2, 3]},
                             {"name": "v.lengths", "shape": [2], "datatype": "INT64", "data": [1, 2]},
                             {"name": "v.weights", "shape": [3], "datatype": "FP32", "data": [0.5, -1, 2]})"),
      eighths + binary + std::string(16, '\x01'),
      '\x01' + SafetensorsBytes(ctx, {.tensors = {{"dense", Tensor::Zeros(ctx, {2, 1})},
                                                  {"u", Tensor::From<int64_t>(ctx, {1, 2, 3})},
                                                  {"u.lengths", Tensor::From<int64_t>(ctx, {1, 2})},
                                                  {"v", Tensor::From<int32_t>(ctx, {1, 2})},
                                                  {"w", Tensor::From<int64_t>(ctx, {0, 1})}},
                                      .metadata = {{"id", "7"}}})};
}

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  if (size == 0) return 0;
  serve::Predictor& predictor = fuzz::Model();
  const serve::ModelSpec& spec = predictor.model()->spec();
  const std::string_view body = fuzz::AsText(data + 1, size - 1);
  fuzz::MayRefuse([&] {
    const serve::InferRequest infer = data[0] % 3 == 1 ? serve::ParseInferSafetensors(body, spec)
                                      : data[0] % 3 == 2
                                          ? serve::ParseInferJson(body, std::nullopt, spec)
                                          : serve::ParseInferJson(body, data[0] / 3 * 8, spec);
    predictor.Predict(infer.predict);
  });
  return 0;
}
