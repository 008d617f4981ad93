#include "serve/http/inference_protocol.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <map>

#include "runtime/base/joined.h"
#include "runtime/files/safetensors.h"
#include "runtime/json/json_fields.h"
#include "runtime/json/json_reader.h"
#include "runtime/tensor.h"
#include "serve/http/body/plain_request.h"
#include "serve/http/request_inputs.h"

namespace tessera::serve {
namespace {

using internal::RequestInput;
using tessera::internal::Dismantled;
using tessera::internal::IsText;
using tessera::internal::Json;
using tessera::internal::JsonLimits;
using tessera::internal::JsonObject;
using tessera::internal::RequireList;
using tessera::internal::ThrowExpected;

constexpr char kServerName[] = "tessera", kServerVersion[] = "1";

DType TypeNamed(const std::string& name, const std::string& where) {
  if (const auto dtype = internal::TypeNamed(name)) return *dtype;
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

// Takes the next of the binary parts.
std::string_view TakeBytes(std::string_view& binary, int64_t bytes, const std::string& where,
                           DType dtype, const Shape& shape) {
  const int64_t expected = shape.numel() * SizeOf(dtype);
  if (bytes != expected || static_cast<uint64_t>(bytes) > binary.size())
    throw Error(Format("{}: expected {} bytes for the shape {}, got {}; {} are left", where,
                       expected, shape, bytes, binary.size()));
  const std::string_view taken = binary.substr(0, static_cast<size_t>(bytes));
  binary.remove_prefix(taken.size());
  return taken;
}

// The text of a list that was left unread.
std::string_view UnreadText(const Json& place, const std::string& where, std::string_view text) {
  RequireList(place, where);
  const size_t begin = place[0], end = place[1];
  return text.substr(begin, end - begin);
}

// Returns the value of a key of the object's "parameters", if there is one.
template <typename T>
std::optional<T> Parameter(JsonObject& object, const char* key) {
  const Json* parameters = object.Find("parameters");
  if (parameters == nullptr) return std::nullopt;
  if (!parameters->is_object()) ThrowExpected(object.at("parameters"), "an object", *parameters);
  const auto found = parameters->find(key);
  if (found == parameters->end()) return std::nullopt;
  T value{};
  tessera::internal::ReadJson(*found, object.at(Format("parameters.{}", key)), value);
  return value;
}

// The texts of a request: its JSON, and the bytes behind it that are not taken yet.
struct BodyParts {
  std::string_view json, binary;
};

void ReadInput(const Json& json, const std::string& where, size_t body_bytes, BodyParts& parts,
               std::map<std::string, RequestInput>& inputs) {
  JsonObject input(json, where);
  std::string name, datatype;
  input.Required("name", name);
  input.Required("datatype", datatype);
  const DType dtype = TypeNamed(datatype, input.at("datatype"));
  const auto binary_size = Parameter<int64_t>(input, "binary_data_size");
  const Shape shape =
      ReadShape(input, binary_size ? SizeOf(dtype) : 1, body_bytes);  // at least a digit
  RequestInput read{.dtype = dtype, .shape = shape, .bytes = {}, .json = !binary_size, .where = {}};
  if (binary_size) {
    read.bytes = TakeBytes(parts.binary, *binary_size, input.at("parameters.binary_data_size"),
                           dtype, shape);
  } else {
    read.where = input.at("data");
    read.bytes = UnreadText(input.Require("data"), read.where, parts.json);
  }
  input.Finish();
  if (!inputs.emplace(name, std::move(read)).second)
    throw Error(Format("{}: '{}' is there twice", where, name));
}

// The limits of the JSON of a request to this model; the data of its inputs is not counted.
JsonLimits LimitsOf(const ModelSpec& spec) {
  constexpr size_t kOfAnInput = 32, kOthers = 1000;
  return {.values = kOthers + kOfAnInput * (2 * spec.Features().size() + 1)};
}

// A header of many tensors costs several times its bytes to read; the inputs of this model need
// few.
void CheckHeader(std::string_view body, const ModelSpec& spec) {
  constexpr size_t kOfAnInput = 512, kOthers = 64 << 10;
  size_t most = kOthers;
  for (const std::string& feature : spec.Features()) most += 2 * (kOfAnInput + feature.size());
  uint64_t header = 0;
  if (body.size() < sizeof header) return;
  std::memcpy(&header, body.data(), sizeof header);
  if (header > most && header <= body.size())
    throw Error(Format("body: a header of {} bytes; that of this model's inputs has at most {}",
                       header, most));
}

// `json` is one of the outputs `there`; `binary`: where it does not say.
AskedOutput ReadOutput(const Json& json, const std::string& where,
                       const std::vector<std::string>& there, bool binary) {
  const Json* name = json.is_object() && json.contains("name") ? &json["name"] : nullptr;
  const auto is = [&](const std::string& text) { return IsText(*name, text); };
  const auto found = name == nullptr ? there.end() : std::ranges::find_if(there, is);
  if (found == there.end())
    ThrowExpected("outputs", "the name \"" + tessera::internal::Joined(there, "\" or \"") + "\"",
                  json);
  JsonObject output(json, where);
  output.Find("name");
  const AskedOutput asked = {*found, Parameter<bool>(output, "binary_data").value_or(binary)};
  if (const Json* p = output.Find("parameters"); p != nullptr && p->contains("classification"))
    throw Error(
        Format("{}: scores are answered, not classes", output.at("parameters.classification")));
  output.Finish();
  return asked;
}

std::vector<AskedOutput> ReadOutputs(JsonObject& request, const ModelSpec& spec) {
  const std::vector<std::string> there = spec.Outputs();
  const bool binary = Parameter<bool>(request, "binary_data_output").value_or(false);
  std::vector<AskedOutput> asked;
  if (const Json* outputs = request.Find("outputs")) {
    RequireList(*outputs, "outputs");
    for (size_t i = 0; i < outputs->size(); ++i)
      asked.push_back(ReadOutput((*outputs)[i], Format("outputs[{}]", i), there, binary));
  }
  if (asked.empty() && binary)
    for (const std::string& name : there) asked.push_back({name, binary});
  return asked;
}

std::string TensorJson(const std::string& name, const char* datatype, const std::string& shape) {
  return Format(R"({{"name":{},"datatype":"{}","shape":[{}]}})", QuotedJson(name), datatype, shape);
}

bool IsStrict(const SafetensorsFile& file) {
  const auto found = file.metadata().find("strict");
  if (found == file.metadata().end() || found->second == "false") return false;
  if (found->second == "true") return true;
  throw Error(
      Format("metadata strict: expected true or false, got '{}'", found->second.substr(0, 40)));
}

// A small request as most clients write it. Nothing for any other, nor for one that is wrong: the
// reader of trees says where.
std::optional<InferRequest> ParsePlain(std::string_view body, const ModelSpec& spec) {
  auto plain = internal::ReadPlainRequest(body, 2 * spec.Features().size() + 1);
  if (!plain) return {};
  try {
    return InferRequest{std::move(plain->id), internal::RequestOf(plain->inputs, spec)};
  } catch (const Error&) {
    return {};
  }
}

std::vector<AskedOutput> AllOf(const std::vector<std::string>& outputs) {
  std::vector<AskedOutput> all;
  for (const std::string& name : outputs) all.push_back({name});
  return all;
}

// The numbers of one output, example after example.
std::vector<float> ScoresOf(const ScoredRequest& scored, const std::string& output) {
  const auto found = std::ranges::find(scored.outputs, output);
  if (found == scored.outputs.end())
    throw Error(
        Format("outputs: the model, now version {}, has no '{}'", scored.model_version, output));
  std::vector<float> numbers;
  for (auto i = static_cast<size_t>(found - scored.outputs.begin()); i < scored.scores.size();
       i += scored.outputs.size())
    numbers.push_back(scored.scores[i]);
  return numbers;
}

std::string NumbersText(const std::vector<float>& numbers) {
  std::string text;
  for (const float number : numbers) {
    std::array<char, 32> digits;
    if (!text.empty()) text += ',';
    text.append(digits.data(),
                std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
  }
  return text;
}

}  // namespace

InferRequest ParseInferJson(std::string_view body, std::optional<size_t> json_bytes,
                            const ModelSpec& spec) {
  if (!json_bytes)
    if (std::optional<InferRequest> plain = ParsePlain(body, spec)) return std::move(*plain);
  if (json_bytes.value_or(0) > body.size())
    throw Error(Format("JSON of {} bytes in a body of {}", *json_bytes, body.size()));
  const size_t json_end = json_bytes.value_or(body.size());
  BodyParts parts{.json = body.substr(0, json_end), .binary = body.substr(json_end)};
  Json json =
      tessera::internal::ReadJsonText(parts.json, LimitsOf(spec), {.path = {"inputs", "", "data"}});
  const Dismantled guard(json);
  JsonObject request(json, "");
  InferRequest infer;
  request.Optional("id", infer.id);
  const bool strict = Parameter<bool>(request, "strict").value_or(false);
  infer.outputs = ReadOutputs(request, spec);
  const Json& list = RequireList(request, "inputs");
  request.Finish();
  std::map<std::string, RequestInput> inputs;
  for (size_t i = 0; i < list.size(); ++i)
    ReadInput(list[i], Format("inputs[{}]", i), body.size(), parts, inputs);
  if (!parts.binary.empty())
    throw Error(Format("{} bytes behind the last input", parts.binary.size()));
  infer.predict = internal::RequestOf(inputs, spec);
  infer.predict.strict = strict;
  return infer;
}

InferRequest ParseInferSafetensors(std::string_view body, const ModelSpec& spec) {
  CheckHeader(body, spec);
  const SafetensorsFile file(body, "body");
  std::map<std::string, RequestInput> inputs;
  for (const auto& [name, entry] : file.entries()) {
    const std::string_view bytes =
        body.substr(static_cast<size_t>(entry.begin), static_cast<size_t>(entry.nbytes()));
    inputs.emplace(name, RequestInput{.dtype = entry.dtype,
                                      .shape = entry.shape,
                                      .bytes = bytes,
                                      .json = false,
                                      .where = {}});
  }
  const auto id = file.metadata().find("id");
  InferRequest infer{.id = id == file.metadata().end() ? "" : id->second,
                     .predict = internal::RequestOf(inputs, spec)};
  infer.predict.strict = IsStrict(file);
  return infer;
}

// Numbers are written as they are made: a tree of them would take several times their text.
InferAnswer AnswerInJson(const std::string& model, const ScoredRequest& scored,
                         const std::string& id, const std::vector<AskedOutput>& asked) {
  const size_t examples = scored.scores.size() / scored.outputs.size();
  std::string text = Format(R"({{"model_name":{},"model_version":"{}","outputs":[)",
                            QuotedJson(model), scored.model_version);
  std::string binary;
  const std::vector<AskedOutput> outputs = asked.empty() ? AllOf(scored.outputs) : asked;
  for (const AskedOutput& output : outputs) {
    text += Format(R"({}{{"name":{},"datatype":"FP32","shape":[{}],)",
                   &output == outputs.data() ? "" : ",", QuotedJson(output.name), examples);
    const std::vector<float> numbers = ScoresOf(scored, output.name);
    if (output.binary) {
      text += Format(R"("parameters":{{"binary_data_size":{}}}}})", examples * sizeof(float));
      binary.append(reinterpret_cast<const char*>(numbers.data()), examples * sizeof(float));
    } else {
      text += "\"data\":[" + NumbersText(numbers) + "]}";
    }
  }
  text += "]";
  if (!id.empty()) text += ",\"id\":" + QuotedJson(id);
  text += "}";
  const bool any_binary = std::ranges::any_of(outputs, &AskedOutput::binary);
  return {text + binary, any_binary ? std::optional(text.size()) : std::nullopt};
}

std::string InferResponseSafetensors(const ScoredRequest& scored) {
  Context ctx({.threads = 1});
  const auto outputs = std::ssize(scored.outputs);
  const Tensor all =
      Tensor::From(ctx, {std::ssize(scored.scores) / outputs, outputs}, scored.scores);
  Safetensors content;
  for (int64_t t = 0; t < outputs; ++t)
    content.tensors.emplace(scored.outputs[static_cast<size_t>(t)],
                            all.Narrow(1, t, 1).Clone(ctx).Reshape({-1}));
  return SafetensorsBytes(ctx, content);
}

std::string ServerMetadataJson() {
  return Format(R"({{"name":"{}","version":"{}",)"
                R"("extensions":["binary_tensor_data","model_repository","safetensors"]}})",
                kServerName, kServerVersion);
}

std::vector<ModelInput> InputsOf(const ModelSpec& spec) {
  std::vector<ModelInput> inputs;
  if (spec.net.dense_in > 0) inputs.push_back({kDenseInput, "FP32", spec.net.dense_in});
  for (const std::string& feature : spec.Features()) inputs.push_back({feature, "INT64", -1});
  if (spec.net.weighted)
    for (const std::string& feature : spec.Features())
      inputs.push_back({feature + ".weights", "FP32", -1});
  return inputs;
}

std::string ModelMetadataJson(const std::string& model, const ModelSpec& spec,
                              const std::vector<std::string>& row_keys,
                              const std::vector<int64_t>& versions) {
  std::vector<std::string> inputs;
  for (const ModelInput& input : InputsOf(spec))
    inputs.push_back(TensorJson(input.name, input.datatype, Format("-1,{}", input.columns)));
  std::string outputs;
  for (const std::string& name : spec.Outputs())
    outputs += (outputs.empty() ? "" : ",") + TensorJson(name, "FP32", "-1");
  std::string keys;
  for (const std::string& key : row_keys) keys += (keys.empty() ? "" : ",") + QuotedJson(key);
  std::string numbers = versions.empty() ? Format("\"{}\"", spec.version) : "";
  for (const int64_t version : versions)
    numbers += Format("{}\"{}\"", numbers.empty() ? "" : ",", version);
  return Format(R"({{"name":{},"versions":[{}],"platform":"tessera_{}",)"
                R"("inputs":[{}],"outputs":[{}]{}}})",
                QuotedJson(model), numbers, ToString(spec.net.type),
                tessera::internal::Joined(inputs, ","), outputs,
                keys.empty() ? "" : Format(R"(,"row_keys":[{}])", keys));
}

// Bytes of a request that are not UTF-8 are replaced. Documents are written as text: a tree could
// not be freed when memory has run out.
std::string QuotedJson(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string ErrorJson(const std::string& what) {
  return "{\"error\":" + Json(what).dump(-1, ' ', true, Json::error_handler_t::replace) + "}";
}

}  // namespace tessera::serve
