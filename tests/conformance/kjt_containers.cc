#include <optional>

#include "sparse/keyed_tensor.h"
#include "tests/conformance/given_gradients.h"
#include "tests/conformance/kjt_case.h"

namespace tessera::conformance {
namespace {

using Strings = std::vector<std::string>;

std::vector<Variable> AsVariables(const std::vector<Tensor>& tensors) {
  return {tensors.begin(), tensors.end()};
}

Answer FromDense(Context& ctx, const Case& c) {
  Answer answer;
  const std::vector<Variable> values = AsVariables(ReadList(c, "values")),
                              weights = AsVariables(ReadList(c, "weights"));
  WriteJt(ctx, JaggedTensor::FromDense(ctx, values, weights), "y", &answer);
  return answer;
}

Answer FromDenseLengths(Context& ctx, const Case& c) {
  Answer answer;
  const Variable weights = c.optional("weights");
  WriteJt(ctx, JaggedTensor::FromDenseLengths(ctx, c.input("values"), c.input("lengths"), weights),
          "y", &answer);
  return answer;
}

Answer ToDense(Context& ctx, const Case& c, bool weights) {
  const JaggedTensor x = ReadJt(c, "x");
  Answer answer;
  for (const Variable& bag : weights ? x.ToDenseWeights(ctx) : x.ToDense(ctx))
    answer.tensors["y." + std::to_string(answer.tensors.size())] = bag;
  return answer;
}

Answer ToPaddedDense(Context& ctx, const Case& c, bool weights) {
  const JaggedTensor x = ReadJt(c, "x");
  const Json& desired = c.attrs.at("desired_length");
  const auto length = desired.is_null() ? std::optional<int64_t>() : desired.get<int64_t>();
  const double padding = c.attrs.at("padding_value").get<double>();
  Answer answer;
  answer.tensors["y"] = weights ? x.ToPaddedDenseWeights(ctx, length, padding)
                                : x.ToPaddedDense(ctx, length, padding);
  return answer;
}

Answer JtText(Context& ctx, const Case& c) {
  Answer answer;
  answer.text = ToString(ctx, ReadJt(c, "x"));
  return answer;
}

Answer KjtText(Context& ctx, const Case& c) {
  Answer answer;
  answer.text = ToString(ctx, ReadKjt(c, "x"));
  return answer;
}

Answer KtText(Context&, const Case& c) {
  const Json& x = c.attrs.at("x");
  Answer answer;
  answer.text = ToString(KeyedTensor(x.at("keys").get<Strings>(),
                                     x.at("length_per_key").get<std::vector<int64_t>>(),
                                     c.input("x.values")));
  return answer;
}

Answer One(Context& ctx, const KeyedJaggedTensor& kjt) {
  Answer answer;
  WriteKjt(ctx, kjt, "y", &answer);
  return answer;
}

Answer Construct(Context& ctx, const Case& c) { return One(ctx, ReadKjt(c, "x").Sync(ctx)); }

Answer FromLengths(Context& ctx, const Case& c) {
  const KeyedJaggedTensor x = ReadKjt(c, "x");
  if (x.variable_stride_per_key() || x.inverse_indices_or_none() != nullptr) return One(ctx, x);
  return One(ctx,
             KeyedJaggedTensor::FromLengthsSync(x.keys(), c.input("x.values"), c.input("x.lengths"),
                                                c.optional("x.weights")));
}

Answer FromOffsets(Context& ctx, const Case& c) {
  const KeyedJaggedTensor x = ReadKjt(c, "x");
  if (x.variable_stride_per_key() || x.inverse_indices_or_none() != nullptr) return One(ctx, x);
  return One(ctx,
             KeyedJaggedTensor::FromOffsetsSync(x.keys(), c.input("x.values"), c.input("x.offsets"),
                                                c.optional("x.weights")));
}

Answer Concat(Context& ctx, const Case& c) {
  std::vector<KeyedJaggedTensor> parts;
  for (int i = 0; i < c.attrs.at("n").get<int>(); ++i)
    parts.push_back(ReadKjt(c, "x" + std::to_string(i)));
  return One(ctx, KeyedJaggedTensor::Concat(ctx, parts));
}

Answer Split(Context& ctx, const Case& c) {
  Answer answer;
  int i = 0;
  for (const KeyedJaggedTensor& part :
       ReadKjt(c, "x").Split(ctx, c.attrs.at("segments").get<std::vector<int64_t>>()))
    WriteKjt(ctx, part, "y" + std::to_string(i++), &answer);
  return answer;
}

Answer Permute(Context& ctx, const Case& c) {
  return One(ctx, ReadKjt(c, "x").Permute(ctx, c.attrs.at("indices").get<std::vector<int64_t>>()));
}

Answer GetItem(Context& ctx, const Case& c) {
  Answer answer;
  WriteJt(ctx, ReadKjt(c, "x").At(ctx, c.attrs.at("key").get<std::string>()), "y", &answer);
  return answer;
}

Answer ToDict(Context& ctx, const Case& c) {
  Answer answer;
  Strings keys;
  for (const auto& [key, jt] : ReadKjt(c, "x").ToDict(ctx)) {
    WriteJt(ctx, jt, "y." + std::to_string(keys.size()), &answer);
    keys.push_back(key);
  }
  answer.expect["keys"] = keys;
  return answer;
}

Answer FromJtDict(Context& ctx, const Case& c) {
  std::vector<std::pair<std::string, JaggedTensor>> dict;
  for (const std::string& key : c.attrs.at("keys").get<Strings>())
    dict.emplace_back(key, ReadJt(c, "x." + std::to_string(dict.size())));
  return One(ctx, KeyedJaggedTensor::FromJtDict(ctx, dict));
}

Answer FlattenLengths(Context& ctx, const Case& c) {
  return One(ctx, ReadKjt(c, "x").FlattenLengths());
}

Answer Empty(Context& ctx, const Case& c) {
  const KeyedJaggedTensor y = KeyedJaggedTensor::Empty(
      ctx, c.attrs.at("is_weighted").get<bool>(), ReadDType(c.attrs.at("values_dtype")),
      ReadDType(c.attrs.at("weights_dtype")), ReadDType(c.attrs.at("lengths_dtype")));
  Answer answer = One(ctx, y);
  answer.tensors["y.lengths"] = y.lengths(ctx);
  return answer;
}

Answer EmptyLike(Context& ctx, const Case& c) {
  const KeyedJaggedTensor y = KeyedJaggedTensor::EmptyLike(ctx, ReadKjt(c, "x"));
  Answer answer = One(ctx, y);
  answer.tensors["y.lengths"] = y.lengths(ctx);
  answer.expect["y"] = {{"keys", y.keys()}, {"stride", y.stride()}};
  return answer;
}

Answer Validate(Context& ctx, const Case& c) {
  const auto rows = c.attrs.value("rows", std::map<std::string, int64_t>());
  Answer answer;
  answer.tensors["valid"] =
      Tensor::From(ctx, std::vector<bool>{ReadKjt(c, "x").Validate(ctx, rows)});
  return answer;
}

Answer FromTensorList(Context& ctx, const Case& c) {
  const KeyedTensor kt =
      KeyedTensor::FromTensorList(ctx, c.attrs.at("keys").get<Strings>(),
                                  AsVariables(ReadList(c, "t")), c.attrs.at("key_dim").get<int>());
  Answer answer;
  answer.tensors["values"] = kt.values();
  Strings dict_keys;
  for (const auto& [key, block] : kt.ToDict(ctx)) {
    answer.tensors["d." + std::to_string(dict_keys.size())] = block.value().Contiguous(ctx);
    dict_keys.push_back(key);
  }
  answer.expect = {{"keys", kt.keys()},
                   {"length_per_key", kt.length_per_key()},
                   {"offset_per_key", kt.offset_per_key()},
                   {"dict_keys", dict_keys}};
  return answer;
}

Answer Regroup(Context& ctx, const Case& c, bool as_dict) {
  std::vector<KeyedTensor> kts;
  for (const Json& kt : c.attrs.at("kts"))
    kts.emplace_back(
        kt.at("keys").get<Strings>(), kt.at("length_per_key").get<std::vector<int64_t>>(),
        Variable(c.input("kt." + std::to_string(kts.size()) + ".values"), /*requires_grad=*/true));
  const auto groups = c.attrs.at("groups").get<std::vector<Strings>>();
  const Strings names = as_dict ? c.attrs.at("names").get<Strings>() : Strings(groups.size());
  Tape tape(ctx);
  Answer answer;
  std::vector<Variable> blocks;
  for (const auto& [name, block] : KeyedTensor::RegroupAsDict(ctx, kts, groups, names)) {
    answer.tensors["g." + std::to_string(blocks.size())] = block;
    if (as_dict) answer.expect["keys"].push_back(name);
    blocks.push_back(block);
  }
  BackwardFrom(ctx, tape, blocks, ReadList(c, "grad"));
  for (size_t i = 0; i < kts.size(); ++i)
    answer.tensors["grad.kt." + std::to_string(i)] = kts[i].values().grad();
  return answer;
}

}  // namespace

const Ops& ContainerOps() {
  static const Ops ops = {
      {"JaggedTensor.from_dense", FromDense},
      {"JaggedTensor.from_dense_lengths", FromDenseLengths},
      {"JaggedTensor.to_dense", [](Context& ctx, const Case& c) { return ToDense(ctx, c, false); }},
      {"JaggedTensor.to_dense_weights",
       [](Context& ctx, const Case& c) { return ToDense(ctx, c, true); }},
      {"JaggedTensor.to_padded_dense",
       [](Context& ctx, const Case& c) { return ToPaddedDense(ctx, c, false); }},
      {"JaggedTensor.to_padded_dense_weights",
       [](Context& ctx, const Case& c) { return ToPaddedDense(ctx, c, true); }},
      {"JaggedTensor.str", JtText},
      {"KeyedJaggedTensor.str", KjtText},
      {"KeyedTensor.str", KtText},
      {"KeyedJaggedTensor.construct", Construct},
      {"KeyedJaggedTensor.from_lengths_sync", FromLengths},
      {"KeyedJaggedTensor.from_offsets_sync", FromOffsets},
      {"KeyedJaggedTensor.concat", Concat},
      {"KeyedJaggedTensor.split", Split},
      {"KeyedJaggedTensor.permute", Permute},
      {"KeyedJaggedTensor.getitem", GetItem},
      {"KeyedJaggedTensor.to_dict", ToDict},
      {"KeyedJaggedTensor.from_jt_dict", FromJtDict},
      {"KeyedJaggedTensor.flatten_lengths", FlattenLengths},
      {"KeyedJaggedTensor.empty", Empty},
      {"KeyedJaggedTensor.empty_like", EmptyLike},
      {"KeyedJaggedTensor.validate", Validate},
      {"KeyedTensor.from_tensor_list", FromTensorList},
      {"KeyedTensor.regroup", [](Context& ctx, const Case& c) { return Regroup(ctx, c, false); }},
      {"KeyedTensor.regroup_as_dict",
       [](Context& ctx, const Case& c) { return Regroup(ctx, c, true); }},
  };
  return ops;
}

}  // namespace tessera::conformance
