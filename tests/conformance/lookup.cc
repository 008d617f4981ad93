// Kind `lookup`: read rows, pool them, and the gradients.
#include "embedding/lookup/bounds_check.h"
#include "embedding/position_weighted.h"
#include "tests/conformance/embedding_case.h"
#include "tests/conformance/kinds.h"

namespace tessera::conformance {
namespace {

// nn.EmbeddingBag's ids and offsets (with or without the last) as a KJT of one key.
KeyedJaggedTensor BagsOf(Context& ctx, const Case& c) {
  const Tensor ids = c.input("ids");
  std::vector<int64_t> offsets;
  VisitIndexType(c.input("offsets").dtype(), "offsets", [&]<typename T>() {
    for (const T o : c.input("offsets").ToVector<T>()) offsets.push_back(o);
  });
  if (!c.attrs["embedding_bag"]["include_last_offset"].get<bool>()) offsets.push_back(ids.numel());
  Variable weights;
  if (const Tensor given = c.optional("weights")) weights = Variable(given, /*requires_grad=*/true);
  const EmbeddingFeature feature{
      "", 0,
      c.attrs.at("features")[0].value("key",
                                      c.attrs.at("features")[0].at("name").get<std::string>())};
  return KeyedJaggedTensor::FromOffsetsSync({feature.key}, ids, Tensor::From(ctx, offsets),
                                            weights);
}

// A KJT after the bounds check, without the ids before the first offset, which belong to no bag.
KeyedJaggedTensor CheckedKjt(Context& ctx, const Case& c, Tensors& answer) {
  std::vector<int64_t> rows;
  for (const Json& f : c.attrs.at("features"))
    for (const Json& t : c.attrs.at("tables"))
      if (t.at("name") == f.at("table")) rows.push_back(t.at("rows").get<int64_t>());
  const BoundsCheckMode mode = ParseBoundsCheckMode(c.attrs.at("bounds_check").get<std::string>());
  const BoundsCheckResult checked =
      CheckBounds(ctx, mode, c.input("kjt.values"), c.input("kjt.offsets"), rows);
  answer["fixed.values"] = checked.ids;
  answer["fixed.offsets"] = checked.offsets;
  if (mode == BoundsCheckMode::kWarning)
    answer["warnings"] = Tensor::From<int64_t>(ctx, {checked.warnings});
  if (c.attrs.value("bounds_check_only", false)) return KeyedJaggedTensor();
  const Tensor offsets = checked.offsets.Clone(ctx).ToHost();
  const int64_t first = VisitIndexType(offsets.dtype(), "offsets", [&]<typename T>() -> int64_t {
    const auto span = offsets.span<T>();
    const T start = span[0];
    for (T& o : span) o = static_cast<T>(o - start);
    return start;
  });
  KeyedJaggedTensorArgs args{.keys = c.attrs.at("kjt").at("keys").get<std::vector<std::string>>(),
                             .values = checked.ids.Rows(first, checked.ids.numel())};
  args.offsets = offsets.To(ctx, ctx.device());
  args.stride = c.attrs["kjt"].at("stride").get<int64_t>();
  if (const Tensor given = c.optional("kjt.weights"))
    args.weights = Variable(given.Rows(first, given.numel()), /*requires_grad=*/true);
  return KeyedJaggedTensor(std::move(args));
}

KeyedJaggedTensor Input(Context& ctx, const Case& c, Tensors& answer) {
  if (c.attrs.contains("embedding_bag")) return BagsOf(ctx, c);
  if (c.attrs.contains("bounds_check")) return CheckedKjt(ctx, c, answer);
  return ReadKjt(c, "kjt", /*weights_grad=*/true);
}

bool HasGradient(const Case& c) {
  for (const auto& [name, tensor] : c.in)
    if (name == "grad" || name.starts_with("grad.")) return true;
  return false;
}

// The position weights of a case, if it has some.
std::unique_ptr<PositionWeightedModuleCollection> PositionWeightsOf(Context& ctx, const Case& c) {
  if (!c.attrs.contains("position_weights")) return nullptr;
  std::vector<std::pair<std::string, int64_t>> lengths;
  for (const auto& [key, length] : c.attrs["position_weights"].items())
    lengths.emplace_back(key, length.get<int64_t>());
  auto weights = std::make_unique<PositionWeightedModuleCollection>(ctx, lengths);
  for (const auto& [key, length] : lengths)
    Variable(weights->position_weight(key)).set_value(c.input("position_weight." + key));
  return weights;
}

}  // namespace

Answer RunLookup(Context& ctx, const Case& c) {
  Answer answer;
  const KeyedJaggedTensor kjt = Input(ctx, c, answer.tensors);
  if (c.attrs.value("bounds_check_only", false)) return answer;
  const bool weighted = c.attrs.value("weighted", false);
  const auto position_weights = PositionWeightsOf(ctx, c);
  TableBatchedEmbeddingOptions options;
  options.weighted = weighted || position_weights;
  options.output_type = ParseDType(c.attrs.value("output_dtype", "f32"));
  for (const int required : c.attrs.value("feature_requires_grad", std::vector<int>()))
    options.feature_requires_grad.push_back(required != 0);
  TableBatchedEmbedding tables =
      MakeTables(ctx, c, std::vector<AnyRule>(c.attrs.at("tables").size(), Dense{}), options);

  Tape tape(ctx);
  const std::vector<Variable> outputs =
      Forward(ctx, c, tables, position_weights ? position_weights->Forward(ctx, kjt) : kjt, "",
              answer.tensors);
  if (!HasGradient(c)) return answer;
  Backward(ctx, c, tape, tables, outputs, "");
  for (int t = 0; t < tables.num_tables(); ++t)
    answer.tensors["grad.table." + std::to_string(t)] = tables.weight_variable(t).grad();
  if (weighted) answer.tensors["grad.weights"] = kjt.weights().grad();
  if (position_weights)
    for (const auto& [key, length] : c.attrs["position_weights"].items())
      answer.tensors["grad.position_weight." + key] = position_weights->position_weight(key).grad();
  return answer;
}

}  // namespace tessera::conformance
