// Kind `quant`: what a stored or a sent row is. Wire codecs, and the choice TorchRec makes of them.
#include <algorithm>

#include "quant/wire_codec.h"
#include "tests/conformance/kinds.h"

namespace tessera::conformance {
namespace {

WireCodec CodecOf(const Json& attrs) {
  const bool backward = attrs.at("direction") == "backward";
  std::string name = attrs.at("precision").get<std::string>();
  if (name == "fp8" && attrs.contains("row_dim")) name = backward ? "fp8_rows_e5" : "fp8_rows";
  WireCodec codec = ParseWireCodec(name);
  if (!attrs.at("loss_scale").is_null()) codec.loss_scale = attrs["loss_scale"].get<float>();
  return codec;
}

// The bytes as the case has them: bit patterns in the shape of x, or bytes.
Tensor EncodedAs(const Tensor& bytes, const Json& attrs, const Shape& shape) {
  const std::string type = attrs.at("encoded_dtype").get<std::string>();
  if (type == "float32") return bytes.Reinterpret(0, shape, DType::kI32);
  if (type == "float16" || type == "bfloat16") return bytes.Reinterpret(0, shape, DType::kI16);
  return bytes.numel() == shape.numel() ? bytes.Reshape(shape) : bytes;
}

Answer RunQcomm(Context& ctx, const Case& c) {
  const WireCodec codec = CodecOf(c.attrs);
  const Tensor x = c.input("x");
  const int64_t row = c.attrs.value("row_dim", c.attrs.value("group", int64_t{0}));
  const Tensor rows = row == 0 ? x : x.Reshape({-1, row});
  const Tensor bytes = Encode(ctx, codec, rows);
  TESSERA_CHECK_EQ(EncodedBytes(codec, rows.numel(), rows.dim(-1)), bytes.numel(), "size");
  Answer answer;
  answer.tensors["encoded"] = EncodedAs(bytes, c.attrs, x.shape());
  answer.tensors["decoded"] = Decode(ctx, codec, bytes, rows.shape()).Reshape(x.shape());
  return answer;
}

template <typename T>
T Pick(const std::string& name, const std::vector<std::pair<const char*, T>>& known) {
  for (const auto& [known_name, value] : known)
    if (name == known_name) return value;
  TESSERA_FAIL("'{}' is not one of the case's known names", name);
}

Answer RunFallback(Context& ctx, const Case& c) {
  const auto names = [&](const char* key, int32_t i) {
    return c.attrs.at(key).at(static_cast<size_t>(i)).get<std::string>();
  };
  const auto precisions = c.attrs.at("precisions").get<std::vector<std::string>>();
  const auto index = [&](const WireCodec& codec) {
    return static_cast<int32_t>(std::find(precisions.begin(), precisions.end(), ToString(codec)) -
                                precisions.begin());
  };
  const auto query = c.input("query").ToVector<int32_t>();
  std::vector<int32_t> answer;
  for (size_t i = 0; i < query.size(); i += 4) {
    const auto device = Pick<DeviceType>(names("devices", query[i]),
                                         {{"cpu", DeviceType::kCpu}, {"cuda", DeviceType::kCuda}});
    const auto use = Pick<WireUse>(names("ops", query[i + 3]),
                                   {{"POOLED_A2A", WireUse::kPooledAllToAll},
                                    {"POOLED_REDUCE_SCATTER", WireUse::kPooledReduceScatter},
                                    {"SEQUENCE_A2A", WireUse::kSequenceAllToAll}});
    const WireCodecs used = TorchRecFallback({ParseWireCodec(names("precisions", query[i + 1])),
                                              ParseWireCodec(names("precisions", query[i + 2]))},
                                             device, use);
    const bool none = used == WireCodecs();
    answer.push_back(none ? -1 : index(used.forward));
    answer.push_back(none ? -1 : index(used.backward));
  }
  const auto n = static_cast<int64_t>(answer.size()) / 2;
  return {{{"answer", Tensor::From(ctx, {n, 2}, answer)}}, {}, {}};
}

}  // namespace

Answer RunQuant(Context& ctx, const Case& c) {
  const std::string op = c.attrs.at("op").get<std::string>();
  if (op == "qcomm") return RunQcomm(ctx, c);
  if (op == "qcomm_fallback") return RunFallback(ctx, c);
  throw Unsupported("op " + op + ": stored quantized rows");
}

}  // namespace tessera::conformance
