#include "serve/http/inference_protocol.h"

#include <cstring>

#include "runtime/json/json_object.h"
#include "runtime/safetensors.h"
#include "serve/http/request_inputs.h"

namespace tessera::serve {
namespace {

using tessera::internal::Json;
using tessera::internal::JsonObject;
using tessera::internal::ThrowExpected;

constexpr char kServerName[] = "tessera", kServerVersion[] = "1";
constexpr char kPlatform[] = "tessera_dlrm";

constexpr std::pair<const char*, DType> kTypes[] = {
    {"FP32", DType::kF32}, {"INT64", DType::kI64}, {"INT32", DType::kI32}};

DType TypeNamed(const std::string& name, const std::string& where) {
  for (const auto& [text, dtype] : kTypes)
    if (name == text) return dtype;
  throw Error(Format("{}: expected FP32, INT64 or INT32, got '{}'", where, name));
}

// Elements of a shape that a body of `most` bytes could hold.
Shape ReadShape(JsonObject& input, int64_t element_bytes, size_t most) {
  std::vector<int64_t> dims;
  input.Required("shape", dims);
  if (dims.size() > Shape::kMaxRank) throw Error(Format("{}: too long", input.at("shape")));
  int64_t bytes = element_bytes;
  for (const int64_t d : dims)
    if (d < 0 || __builtin_mul_overflow(bytes, d, &bytes))
      throw Error(
          Format("{}: expected extents of at least 0 that a body can hold", input.at("shape")));
  if (bytes > static_cast<int64_t>(most))
    throw Error(Format("{}: more elements than there are in the body", input.at("shape")));
  return Shape(std::span(dims));
}

// The elements of `data`, flat or nested as the shape is, row-major.
template <typename T>
class DataReader {
 public:
  DataReader(const Tensor& out, std::string where) : out_(out), where_(std::move(where)) {}

  void Read(const Json& data) {
    Visit(data, 0);
    if (next_ != out_.numel())
      throw Error(Format("{}: expected {} elements, got {}", where_, out_.numel(), next_));
  }

 private:
  void Visit(const Json& data, int depth) {
    if (!data.is_array()) {
      if (depth == 0) ThrowExpected(where_, "a list", data);
      if (next_ < out_.numel()) tessera::internal::ReadJson(data, where_, out_.data<T>()[next_]);
      ++next_;
      return;
    }
    if (depth > Shape::kMaxRank) throw Error(Format("{}: lists in lists, too deep", where_));
    for (const Json& element : data) Visit(element, depth + 1);
  }

  const Tensor& out_;
  const std::string where_;
  int64_t next_ = 0;
};

template <>
void DataReader<int32_t>::Read(const Json& data) {
  Context ctx({.threads = 1});
  const Tensor wide = Tensor::Empty(ctx, out_.shape(), DType::kI64);
  DataReader<int64_t>(wide, where_).Read(data);
  for (int64_t i = 0; i < wide.numel(); ++i) {
    const int64_t value = wide.data<int64_t>()[i];
    out_.data<int32_t>()[i] = static_cast<int32_t>(value);
    if (out_.data<int32_t>()[i] != value) throw Error(Format("{}: {} is no INT32", where_, value));
  }
}

void ReadData(const Json& data, const std::string& where, const Tensor& out) {
  switch (out.dtype()) {
    case DType::kF32:
      return DataReader<float>(out, where).Read(data);
    case DType::kI64:
      return DataReader<int64_t>(out, where).Read(data);
    default:
      return DataReader<int32_t>(out, where).Read(data);
  }
}

// Binary parts, taken one after the other.
void TakeBytes(std::string_view& binary, int64_t bytes, const std::string& where,
               const Tensor& out) {
  if (bytes != out.nbytes() || static_cast<uint64_t>(bytes) > binary.size())
    throw Error(Format("{}: expected {} bytes for the shape {}, got {}; {} are left", where,
                       out.nbytes(), out.shape(), bytes, binary.size()));
  if (bytes > 0) std::memcpy(out.raw_data(), binary.data(), static_cast<size_t>(bytes));
  binary.remove_prefix(static_cast<size_t>(bytes));
}

// An input's "parameters", of which we know one.
std::optional<int64_t> BinarySize(JsonObject& input) {
  const Json* parameters = input.Find("parameters");
  if (parameters == nullptr || !parameters->is_object()) return std::nullopt;
  const auto size = parameters->find("binary_data_size");
  if (size == parameters->end()) return std::nullopt;
  int64_t bytes = 0;
  tessera::internal::ReadJson(*size, input.at("parameters.binary_data_size"), bytes);
  return bytes;
}

void ReadInput(Context& ctx, const Json& json, const std::string& where, size_t body_bytes,
               std::string_view& binary, std::map<std::string, Tensor>& inputs) {
  JsonObject input(json, where);
  std::string name, datatype;
  input.Required("name", name);
  input.Required("datatype", datatype);
  const DType dtype = TypeNamed(datatype, input.at("datatype"));
  const std::optional<int64_t> binary_size = BinarySize(input);
  const Shape shape =
      ReadShape(input, binary_size ? SizeOf(dtype) : 1, body_bytes);  // a digit at least
  const Tensor tensor = Tensor::Empty(ctx, shape, dtype);
  if (binary_size)
    TakeBytes(binary, *binary_size, input.at("parameters.binary_data_size"), tensor);
  else
    ReadData(input.Require("data"), input.at("data"), tensor);
  input.Finish();
  if (!inputs.emplace(name, tensor).second)
    throw Error(Format("{}: '{}' is there twice", where, name));
}

void CheckOutputs(JsonObject& request) {
  const Json* outputs = request.Find("outputs");
  if (outputs == nullptr) return;
  if (!outputs->is_array()) ThrowExpected("outputs", "a list", *outputs);
  for (const Json& output : *outputs)
    if (!output.is_object() || output.value("name", Json()) != kScoreOutput)
      ThrowExpected("outputs", Format("the name \"{}\"", kScoreOutput), output);
}

Json TensorMetadata(const std::string& name, const char* datatype, std::vector<int64_t> shape) {
  return {{"name", name}, {"datatype", datatype}, {"shape", std::move(shape)}};
}

// JSON is UTF-8; what is not comes from a request, and is shown so.
std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

InferRequest ParseInferJson(std::string_view body, std::optional<size_t> json_bytes,
                            const ModelSpec& spec) {
  if (json_bytes.value_or(0) > body.size())
    throw Error(Format("JSON of {} bytes in a body of {}", *json_bytes, body.size()));
  std::string_view binary = body.substr(json_bytes.value_or(body.size()));
  const Json json =
      tessera::internal::ParseJson(std::string(body.substr(0, body.size() - binary.size())));
  JsonObject request(json, "");
  InferRequest infer;
  request.Optional("id", infer.id);
  request.Find("parameters");
  CheckOutputs(request);
  const Json& list = request.Require("inputs");
  if (!list.is_array()) ThrowExpected("inputs", "a list", list);
  request.Finish();
  Context ctx({.threads = 1});
  std::map<std::string, Tensor> inputs;
  for (size_t i = 0; i < list.size(); ++i)
    ReadInput(ctx, list[i], Format("inputs[{}]", i), body.size(), binary, inputs);
  if (!binary.empty()) throw Error(Format("{} bytes behind the last input", binary.size()));
  infer.predict = internal::RequestOf(inputs, spec);
  return infer;
}

InferRequest ParseInferSafetensors(std::string_view body, const ModelSpec& spec) {
  const SafetensorsFile file(body, "body");
  Context ctx({.threads = 1});
  std::map<std::string, Tensor> inputs;
  for (const auto& [name, entry] : file.entries()) inputs.emplace(name, file.Read(ctx, entry));
  const auto id = file.metadata().find("id");
  return {.id = id == file.metadata().end() ? "" : id->second,
          .predict = internal::RequestOf(inputs, spec)};
}

std::string InferResponseJson(const std::string& model, const ScoredRequest& scored,
                              const std::string& id) {
  Json output = TensorMetadata(kScoreOutput, "FP32", {std::ssize(scored.scores)});
  output["data"] = scored.scores;
  Json response = {{"model_name", model},
                   {"model_version", std::to_string(scored.model_version)},
                   {"outputs", Json::array({std::move(output)})}};
  if (!id.empty()) response["id"] = id;
  return Dump(response);
}

std::string InferResponseSafetensors(const std::vector<float>& scores) {
  Context ctx({.threads = 1});
  return SafetensorsBytes(ctx,
                          {.tensors = {{kScoreOutput, Tensor::From(ctx, scores)}}, .metadata = {}});
}

std::string ServerMetadataJson() {
  return Dump({{"name", kServerName},
               {"version", kServerVersion},
               {"extensions", {"binary_tensor_data", "model_repository", "safetensors"}}});
}

std::string ModelMetadataJson(const std::string& model, const ModelSpec& spec) {
  Json inputs = Json::array({TensorMetadata(kDenseInput, "FP32", {-1, spec.net.dense_in})});
  for (const std::string& feature : spec.Features())
    inputs.push_back(TensorMetadata(feature, "INT64", {-1, -1}));
  return Dump({{"name", model},
               {"versions", {std::to_string(spec.version)}},
               {"platform", kPlatform},
               {"inputs", std::move(inputs)},
               {"outputs", Json::array({TensorMetadata(kScoreOutput, "FP32", {-1})})}});
}

std::string TakenDeltasJson(int64_t taken, int64_t version) {
  return Dump({{"taken", taken}, {"model_version", std::to_string(version)}});
}

std::string ErrorJson(const std::string& what) {
  return Json({{"error", what}}).dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace tessera::serve
