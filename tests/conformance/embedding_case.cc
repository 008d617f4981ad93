#include "tests/conformance/embedding_case.h"

#include <map>

#include "runtime/ops/arithmetic.h"

namespace tessera::conformance {
namespace {

WeightDecayMode DecayModeOf(const Json& optimizer) {
  const std::string mode = optimizer.value("weight_decay_mode", "NONE");
  if (mode != "NONE" && mode != "L2" && mode != "DECOUPLE")
    throw Unsupported("weight_decay_mode " + mode);
  return ParseWeightDecayMode(mode);
}

}  // namespace

AnyRule ParseRule(const Json& o) {
  const std::string name = o.at("name").get<std::string>();
  const auto number = [&](const char* key, double otherwise) { return o.value(key, otherwise); };
  const auto lr = static_cast<float>(number("lr", 0));
  const auto eps = static_cast<float>(number("eps", 1e-8));
  const auto decay = static_cast<float>(number("weight_decay", 0));
  if (name == "none") return None{};
  if (name == "sgd") return Sgd{lr};
  if (name == "adagrad") return Adagrad{lr, eps};
  if (name == "rowwise_adagrad")
    return RowwiseAdagrad{lr, eps, decay, DecayModeOf(o),
                          static_cast<float>(number("max_norm", 0))};
  if (name == "adam")
    return Adam{lr,
                eps,
                number("beta1", 0.9),
                number("beta2", 0.999),
                decay,
                o.value("use_rowwise_bias_correction", false)};
  if (name == "partial_rowwise_adam")
    return PartialRowwiseAdam{lr, eps, number("beta1", 0.9), number("beta2", 0.999), decay};
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
    if (t.at("dtype") != "f32")
      throw Unsupported("tables of type " + t.at("dtype").get<std::string>());
    config.init_fn = [&c, i](Context& init_ctx, const Tensor& weight) {
      weight.CopyFrom(init_ctx, c.input("table." + std::to_string(i)));
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
  return KeyedJaggedTensor(std::move(args));
}

bool IsSequence(const Case& c) { return c.attrs.at("pooling") == "NONE"; }

std::vector<Variable> Forward(Context& ctx, const Case& c, TableBatchedEmbedding& tables,
                              const KeyedJaggedTensor& kjt, const std::string& prefix,
                              Tensors& answer) {
  if (kjt.variable_stride_per_key()) throw Unsupported("a batch of its own for each feature");
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
  // One scalar whose gradient with respect to each sequence is what the case gives.
  Variable loss;
  for (size_t f = 0; f < outputs.size(); ++f) {
    const Variable part =
        Sum(ctx, Mul(ctx, outputs[f], c.input(prefix + "grad." + tables.features()[f].name)));
    loss = loss ? Add(ctx, loss, part) : part;
  }
  if (loss) tape.Backward(loss);
}

}  // namespace tessera::conformance
