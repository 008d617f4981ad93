#include "tests/conformance/embedding_case.h"

#include <map>

#include "tests/conformance/given_gradients.h"

namespace tessera::conformance {
namespace {

float Number(const Json& o, const char* key, double otherwise) {
  return static_cast<float>(o.value(key, otherwise));
}

// Reads the options that most rules have.
template <typename Rule>
Rule WithCommonOptions(const Json& o) {
  Rule rule;
  rule.lr = Number(o, "lr", 0);
  if constexpr (requires { rule.eps; }) rule.eps = Number(o, "eps", 1e-8);
  if constexpr (requires { rule.weight_decay; }) rule.weight_decay = Number(o, "weight_decay", 0);
  if constexpr (requires { rule.beta1; }) {
    rule.beta1 = o.value("beta1", 0.9);
    rule.beta2 = o.value("beta2", 0.999);
  }
  if constexpr (requires { rule.max_norm; }) rule.max_norm = Number(o, "max_norm", 0);
  return rule;
}

AnyRule ParseCounter(const Json& o, const Json& c) {
  auto rule = WithCommonOptions<CounterRowwiseAdagrad>(o);
  rule.weight_decay_mode =
      ParseWeightDecayMode(c.at("counter_weight_decay_mode").get<std::string>());
  rule.learning_rate_mode = ParseCounterRateMode(c.at("learning_rate_mode").get<std::string>());
  rule.counter_halflife = c.at("counter_halflife").get<int64_t>();
  rule.adjustment_iter = c.at("adjustment_iter").get<int64_t>();
  rule.adjustment_ub = c.at("adjustment_ub").get<double>();
  rule.tail_id_threshold = c.at("tail_id_threshold").at("val").get<float>();
  rule.tail_id_threshold_is_ratio = c.at("tail_id_threshold").at("is_ratio").get<bool>();
  rule.max_counter_update_freq = c.value("max_counter_update_freq", int64_t{-1});
  return rule;
}

AnyRule ParseCowClip(const Json& o, const Json& c) {
  auto rule = WithCommonOptions<CowClipRowwiseAdagrad>(o);
  rule.weight_decay_mode =
      ParseWeightDecayMode(c.at("counter_weight_decay_mode").get<std::string>());
  rule.counter_halflife = c.at("counter_halflife").get<int64_t>();
  rule.weight_norm_coefficient = c.at("weight_norm_coefficient").get<float>();
  rule.lower_bound = c.at("lower_bound").get<float>();
  return rule;
}

AnyRule ParseRowwiseAdagrad(const Json& o) {
  const std::string mode = o.value("weight_decay_mode", "NONE");
  if (mode == "COUNTER") return ParseCounter(o, o.at("counter"));
  if (mode == "COWCLIP") return ParseCowClip(o, o.at("cowclip"));
  if (mode == "DECOUPLE_GLOBAL") {
    auto rule = WithCommonOptions<GlobalDecayRowwiseAdagrad>(o);
    rule.start_iter = o.at("global_weight_decay").at("start_iter").get<int64_t>();
    rule.lower_bound = o.at("global_weight_decay").at("lower_bound").get<float>();
    return rule;
  }
  auto rule = WithCommonOptions<RowwiseAdagrad>(o);
  rule.weight_decay_mode = ParseWeightDecayMode(mode);
  return rule;
}

AnyRule ParseEnsemble(const Json& o, const Json& e) {
  auto rule = WithCommonOptions<EnsembleRowwiseAdagrad>(o);
  rule.step_ema = e.at("step_ema").get<int64_t>();
  rule.step_swap = e.at("step_swap").get<int64_t>();
  rule.step_start = e.at("step_start").get<int64_t>();
  rule.step_ema_coef = e.at("step_ema_coef").get<float>();
  rule.step_mode = ParseEnsembleStepMode(e.at("step_mode").get<std::string>());
  return rule;
}

AnyRule ParseEmaInPlace(const Json& o, const Json& e) {
  auto rule = WithCommonOptions<EmaInPlaceRowwiseAdagrad>(o);
  rule.step_ema = e.at("step_ema").get<int64_t>();
  rule.step_start = e.at("step_start").get<int64_t>();
  rule.step_ema_coef = e.at("step_ema_coef").get<float>();
  return rule;
}

AnyRule ParseRmspropAr(const Json& o) {
  auto rule = WithCommonOptions<RowwiseRmspropAr>(o);
  rule.ema_beta = o.value("ema_beta", 0.99);
  rule.ar_alpha = Number(o, "ar_alpha", 0);
  rule.min_shrinkage = Number(o, "min_shrinkage", 0.1);
  return rule;
}

AnyRule ParseLars(const Json& o) {
  auto rule = WithCommonOptions<LarsSgd>(o);
  rule.eta = Number(o, "eta", 0.001);
  rule.momentum = Number(o, "momentum", 0.9);
  return rule;
}

AnyRule ParseAdam(const Json& o) {
  auto rule = WithCommonOptions<Adam>(o);
  rule.use_rowwise_bias_correction = o.value("use_rowwise_bias_correction", false);
  return rule;
}

}  // namespace

AnyRule ParseRule(const Json& o) {
  const std::string name = o.at("name").get<std::string>();
  if (name == "none") return None{};
  if (name == "sgd") return WithCommonOptions<Sgd>(o);
  if (name == "adagrad") return WithCommonOptions<Adagrad>(o);
  if (name == "rowwise_adagrad") return ParseRowwiseAdagrad(o);
  if (name == "ensemble_rowwise_adagrad") return ParseEnsemble(o, o.at("ensemble"));
  if (name == "emainplace_rowwise_adagrad") return ParseEmaInPlace(o, o.at("emainplace"));
  if (name == "rowwise_rmsprop_ar") return ParseRmspropAr(o);
  if (name == "lars_sgd") return ParseLars(o);
  if (name == "adam") return ParseAdam(o);
  if (name == "adamw") return WithCommonOptions<AdamW>(o);
  if (name == "partial_rowwise_adam") return WithCommonOptions<PartialRowwiseAdam>(o);
  if (name == "lamb") return WithCommonOptions<Lamb>(o);
  if (name == "partial_rowwise_lamb") return WithCommonOptions<PartialRowwiseLamb>(o);
  throw Unsupported("optimizer " + name);
}

PoolingType PoolingOf(const Case& c, const Json& table) {
  const std::string pooling = c.attrs.at("pooling").get<std::string>();
  return ParsePoolingType(pooling == "PER_TABLE" ? table.at("pooling").get<std::string>()
                                                 : pooling);
}

TableBatchedEmbedding MakeTables(Context& ctx, const Case& c, const std::vector<AnyRule>& rules,
                                 TableBatchedEmbeddingOptions options) {
  std::vector<BaseEmbeddingConfig> configs;
  std::vector<PoolingType> poolings;
  std::map<std::string, int> index;
  for (const Json& t : c.attrs.at("tables")) {
    const int i = static_cast<int>(configs.size());
    BaseEmbeddingConfig config;
    config.name = t.at("name").get<std::string>();
    config.num_embeddings = t.at("rows").get<int64_t>();
    config.embedding_dim = t.at("dim").get<int64_t>();
    config.data_type = ParseDType(t.at("dtype").get<std::string>());
    config.init_fn = [&c, i](Context& init_ctx, const Tensor& weight) {
      weight.CopyFrom(init_ctx, c.input("table." + std::to_string(i)).To(init_ctx, DType::kF32));
    };
    config.optimizer = rules[static_cast<size_t>(i)];
    index[config.name] = i;
    poolings.push_back(PoolingOf(c, t));
    configs.push_back(std::move(config));
  }
  std::vector<EmbeddingFeature> features;
  for (const Json& f : c.attrs.at("features")) {
    const std::string name = f.at("name").get<std::string>();
    features.push_back({name, index.at(f.at("table").get<std::string>()), f.value("key", name)});
  }
  return TableBatchedEmbedding(ctx, std::move(configs), std::move(poolings), std::move(features),
                               std::move(options));
}

KeyedJaggedTensor ReadKjt(const Case& c, const std::string& prefix, bool weights_grad) {
  const Json& attrs = c.attrs.at(prefix);
  KeyedJaggedTensorArgs args;
  args.keys = attrs.at("keys").get<std::vector<std::string>>();
  args.values = c.input(prefix + ".values");
  args.lengths = c.optional(prefix + ".lengths");
  args.offsets = c.optional(prefix + ".offsets");
  if (attrs.contains("stride_per_key_per_rank"))
    args.stride_per_key_per_rank = attrs["stride_per_key_per_rank"].get<StridePerKeyPerRank>();
  else
    args.stride = attrs.at("stride").get<int64_t>();
  if (const Tensor weights = c.optional(prefix + ".weights"))
    args.weights = Variable(weights, weights_grad);
  if (const Tensor inverse = c.optional(prefix + ".inverse_indices"))
    args.inverse_indices = {args.keys, inverse};
  return KeyedJaggedTensor(std::move(args));
}

bool IsSequence(const Case& c) { return c.attrs.at("pooling") == "NONE"; }

std::vector<Variable> Forward(Context& ctx, const Case& c, TableBatchedEmbedding& tables,
                              const KeyedJaggedTensor& kjt, const std::string& prefix,
                              Tensors& answer) {
  if (!IsSequence(c)) {
    const Variable pooled = tables.Forward(ctx, kjt);
    answer[prefix + "pooled"] = pooled.value();
    return {pooled};
  }
  std::vector<Variable> rows = tables.ForwardSequence(ctx, kjt);
  for (size_t f = 0; f < rows.size(); ++f)
    answer[prefix + "sequence." + tables.features()[f].name] = rows[f].value();
  return rows;
}

void Backward(Context& ctx, const Case& c, Tape& tape, const TableBatchedEmbedding& tables,
              const std::vector<Variable>& outputs, const std::string& prefix) {
  if (!IsSequence(c)) {
    tape.Backward(outputs[0], c.input(prefix + "grad"));
    return;
  }
  std::vector<Tensor> grads;
  for (const EmbeddingFeature& feature : tables.features())
    grads.push_back(c.input(prefix + "grad." + feature.name));
  BackwardFrom(ctx, tape, outputs, std::move(grads));
}

}  // namespace tessera::conformance
