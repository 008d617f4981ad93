// Kind `quant`: stored rows and sent rows. Row codecs, wire codecs, the choice TorchRec makes of
// them, and the number formats that they are made of.
#include <algorithm>

#include "quant/hfp8.h"
#include "quant/row_codec.h"
#include "quant/wire_codec.h"
#include "tests/conformance/kinds.h"
#include "tests/conformance/quant_case.h"

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

Tensor BitsOf(const Tensor& floats) { return floats.Reinterpret(0, floats.shape(), DType::kI32); }

// Casts f32 to 16 bits; with clamp as it is sent to other ranks.
Answer RunCast(Context& ctx, const Case& c) {
  const bool half_away = c.attrs.at("rounding") == "half_away";
  if (!half_away && c.attrs["rounding"] != "half_even")
    throw Unsupported("rounding " + c.attrs["rounding"].get<std::string>());
  const DType type = c.attrs.at("to") == "float16" ? DType::kF16 : DType::kBF16;
  const auto cast = [&](const Tensor& x) {
    if (half_away)
      return EncodeRows(ctx, {RowType::kBF16HalfAway, 1}, x.Reshape({1, -1}))
          .Reinterpret(0, x.shape(), type);
    if (!c.attrs.at("clamp").get<bool>()) return x.To(ctx, type);
    const WireCodec codec{type == DType::kF16 ? WireType::kFp16 : WireType::kBf16};
    return Encode(ctx, codec, x).Reinterpret(0, x.shape(), type);
  };
  const Tensor narrow = cast(c.input("x"));
  Answer answer;
  answer.tensors["bits"] = narrow.Reinterpret(0, narrow.shape(), DType::kI16);
  answer.tensors["back"] = BitsOf(narrow.To(ctx, DType::kF32));
  if (const Tensor nan = c.optional("nan")) answer.tensors["nan"] = cast(nan).To(ctx, DType::kF32);
  return answer;
}

Answer RunWiden(Context& ctx, const Case& c) {
  const Tensor bits = c.input("bits");
  const DType type = c.attrs.at("from") == "float16" ? DType::kF16 : DType::kBF16;
  const Tensor narrow = bits.Reinterpret(0, bits.shape(), type);
  return {{{"bits", BitsOf(narrow.To(ctx, DType::kF32))}}, {}, {}};
}

Answer RunHfp8(Context& ctx, const Case& c) {
  const Hfp8 format{c.attrs.at("ebits").get<int>(), c.attrs.at("bias").get<int>(),
                    c.attrs.at("max_pos").get<float>()};
  const auto encode = [&](const Tensor& x) {
    std::vector<uint8_t> codes;
    for (const float value : x.ToVector<float>()) codes.push_back(format.Encode(value));
    return Tensor::From(ctx, x.shape(), codes);
  };
  const auto decode = [&](const Tensor& codes) {
    std::vector<float> values;
    for (const uint8_t code : codes.ToVector<uint8_t>()) values.push_back(format.Decode(code));
    return BitsOf(Tensor::From(ctx, codes.shape(), values));
  };
  const Tensor q = encode(c.input("x"));
  return {{{"q", q},
           {"back_bits", decode(q)},
           {"q_special", encode(c.input("special"))},
           {"decode_bits", decode(c.input("codes"))}},
          {},
          {}};
}

// Encodes x into stored rows without padding, and decodes them.
Answer RowsBy(Context& ctx, const std::string& codec_name, const Tensor& x, const char* decoded) {
  const RowCodec codec = ParseRowCodec(codec_name + "@1");
  const Tensor bytes = EncodeRows(ctx, codec, x);
  return {{{"q", bytes}, {decoded, DecodeRows(ctx, codec, bytes, x.dim(1))}}, {}, {}};
}

Answer RunMx4(Context& ctx, const Case& c) {
  const std::string rounding = c.attrs.at("rounding").get<std::string>();
  return RowsBy(ctx, rounding == "even" ? "mx4" : "mx4_" + rounding, c.input("x"), "back");
}

Answer RunRows(Context& ctx, const Case& c) {
  const bool fused8 = c.attrs.at("format") == "fused8_f32";
  const std::string codec =
      fused8 ? "int8_f32_tail" : Format("int{}_tail", c.attrs.at("bits").get<int>());
  Answer answer = RowsBy(ctx, codec, c.input("x").To(ctx, DType::kF32), "dq");
  if (c.out.contains("dq_half"))
    answer.tensors["dq_half"] = answer.tensors["dq"].To(ctx, DType::kF16);
  return answer;
}

}  // namespace

Answer RunQuant(Context& ctx, const Case& c) {
  const std::string op = c.attrs.at("op").get<std::string>();
  if (op == "qcomm") return RunQcomm(ctx, c);
  if (op == "qcomm_fallback") return RunFallback(ctx, c);
  if (op == "cast") return RunCast(ctx, c);
  if (op == "widen") return RunWiden(ctx, c);
  if (op == "hfp8") return RunHfp8(ctx, c);
  if (op == "mx4") return RunMx4(ctx, c);
  if (op == "rows") return RunRows(ctx, c);
  if (op == "tbe_rows") return RunTbeRows(ctx, c);
  if (op == "tbe_lookup") return RunTbeLookup(ctx, c);
  if (op == "ebc") return RunQuantEbc(ctx, c);
  if (op == "ec") return RunQuantEc(ctx, c);
  if (op == "quant_dlrm") return RunQuantDlrm(ctx, c);
  throw Unsupported("op " + op);
}

}  // namespace tessera::conformance
