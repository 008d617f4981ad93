#include "embedding/itep/itep_steps.h"

#include <algorithm>
#include <utility>

namespace tessera::internal {

std::vector<BaseEmbeddingConfig> TablesOf(const TableBatchedEmbedding& tables) {
  std::vector<BaseEmbeddingConfig> configs;
  for (int t = 0; t < tables.num_tables(); ++t) configs.push_back(tables.table(t));
  return configs;
}

ItepSteps::ItepSteps(std::unique_ptr<GenericITEPModule> module,
                     const std::vector<BaseEmbeddingConfig>& tables)
    : module_(std::move(module)) {
  if (module_ == nullptr) throw Error("ITEP: a module is needed, got null");
  const std::vector<BaseEmbeddingConfig>& configs = module_->configs();
  TESSERA_CHECK_EQ(tables.size(), configs.size(),
                   "ITEP: tables of the collection, and of the module");
  for (size_t t = 0; t < configs.size(); ++t)
    TESSERA_CHECK(tables[t].name == configs[t].name &&
                      tables[t].num_embeddings == configs[t].num_embeddings &&
                      tables[t].feature_names == configs[t].feature_names,
                  "ITEP: table {} ({} rows) is not the module's table {} ({} rows), with the same "
                  "features",
                  tables[t].name, tables[t].num_embeddings, configs[t].name,
                  configs[t].num_embeddings);
}

KeyedJaggedTensor ItepSteps::Forward(Context& ctx, const KeyedJaggedTensor& features,
                                     BoundsCheckMode mode,
                                     const std::function<void(int, const Tensor&)>& reset) {
  const bool training = ctx.tape() != nullptr;
  module_->CheckIdsSync(ctx, features, mode);
  KeyedJaggedTensor remapped = module_->Forward(ctx, features, iter_, training);
  const std::vector<Tensor> rows = module_->TakeHandedOn(ctx);
  for (size_t t = 0; t < rows.size(); ++t)
    if (rows[t].numel() > 0) reset(static_cast<int>(t), rows[t]);
  if (training) ++iter_;
  return remapped;
}

std::vector<NamedTensor> ItepSteps::StateDict(Context& ctx, const std::string& prefix) const {
  std::vector<NamedTensor> state = module_->StateDict(ctx, prefix + "_itep_module.");
  state.push_back({prefix + "_iter", Tensor::From<int64_t>(ctx, {iter_})});
  return state;
}

void ItepSteps::LoadStateDict(Context& ctx, const std::vector<NamedTensor>& tensors,
                              const std::string& prefix) {
  std::vector<NamedTensor> rest = tensors;
  const auto iter = std::find_if(rest.begin(), rest.end(),
                                 [&](const NamedTensor& t) { return t.name == prefix + "_iter"; });
  TESSERA_CHECK(
      iter != rest.end() && iter->tensor.dtype() == DType::kI64 && iter->tensor.numel() == 1,
      "ITEP: the state has no {}_iter, i64 [1]", prefix);
  const int64_t forwards = iter->tensor.ToVector<int64_t>()[0];
  rest.erase(iter);
  module_->LoadStateDict(ctx, rest, prefix + "_itep_module.");
  iter_ = forwards;
}

}  // namespace tessera::internal
