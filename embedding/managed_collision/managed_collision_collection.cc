#include "embedding/managed_collision/managed_collision_collection.h"

#include <map>

namespace tessera {
namespace internal {

std::string StatePrefix(const std::string& prefix, const std::string& table) {
  return prefix + "_managed_collision_modules." + table + ".";
}

void CheckReadOnce(const std::vector<BaseEmbeddingConfig>& configs) {
  std::map<std::string, std::string> readers;
  for (const BaseEmbeddingConfig& config : configs)
    for (const std::string& feature : config.feature_names) {
      const auto [reader, first] = readers.emplace(feature, config.name);
      TESSERA_CHECK(
          first,
          "managed collision: feature {} is read by the tables {} and {}, and its ids can "
          "become the rows of one only",
          feature, reader->second, config.name);
    }
}

}  // namespace internal

ManagedCollisionCollection::ManagedCollisionCollection(std::vector<ManagedTable> modules,
                                                       std::vector<BaseEmbeddingConfig> configs)
    : configs_(std::move(configs)) {
  std::map<std::string, std::shared_ptr<ManagedCollisionModule>> given;
  for (ManagedTable& m : modules) {
    TESSERA_CHECK(m.module != nullptr, "managed collision: no module for table {}", m.table);
    TESSERA_CHECK(given.emplace(m.table, std::move(m.module)).second,
                  "managed collision: two modules for table {}", m.table);
  }
  for (const BaseEmbeddingConfig& config : configs_) {
    const auto found = given.find(config.name);
    TESSERA_CHECK(found != given.end(), "managed collision: table {} has no module", config.name);
    TESSERA_CHECK_EQ(found->second->output_size(), config.num_embeddings,
                     "managed collision: rows that the module of table {} may name", config.name);
    for (size_t t = 0; t < modules_.size(); ++t)
      TESSERA_CHECK(modules_[t] != found->second,
                    "managed collision: tables {} and {} have one module; expected one each, as "
                    "rows that change hands are reset in one table",
                    configs_[t].name, config.name);
    modules_.push_back(std::move(found->second));
    given.erase(found);
  }
  TESSERA_CHECK(given.empty(), "managed collision: a module for {}, which is no table",
                given.begin()->first);
  internal::CheckReadOnce(configs_);
}

KeyedJaggedTensor ManagedCollisionCollection::Forward(Context& ctx,
                                                      const KeyedJaggedTensor& features) {
  const Tensor& raw = features.values();
  const std::vector<int64_t>& offsets = features.offset_per_key();
  Tensor values;  // if several modules or features share it
  const auto shared_values = [&] {
    if (!values) values = raw.dtype() == DType::kI64 ? raw.Clone(ctx) : raw.To(ctx, DType::kI64);
    return values;
  };
  for (size_t t = 0; t < modules_.size(); ++t) {
    std::vector<Tensor> ids;
    std::vector<std::pair<int64_t, int64_t>> places;
    for (const std::string& feature : configs_[t].feature_names) {
      const auto key = static_cast<size_t>(features.IndexOf(feature));
      ids.push_back(raw.Rows(offsets[key], offsets[key + 1]));
      places.emplace_back(offsets[key], offsets[key + 1]);
    }
    const std::vector<Tensor> rows = modules_[t]->Forward(ctx, ids, ctx.tape() != nullptr);
    if (features.keys().size() == 1 && rows.size() == 1) return features.WithValues(rows[0]);
    for (size_t f = 0; f < rows.size(); ++f)
      shared_values().Rows(places[f].first, places[f].second).CopyFrom(ctx, rows[f]);
  }
  return features.WithValues(shared_values());
}

std::vector<EvictedRows> ManagedCollisionCollection::Evict(Context& ctx) {
  std::vector<EvictedRows> evicted;
  for (size_t t = 0; t < modules_.size(); ++t)
    evicted.push_back({configs_[t].name, modules_[t]->Evict(ctx)});
  return evicted;
}

ManagedCollisionModule& ManagedCollisionCollection::module(const std::string& table) {
  for (size_t t = 0; t < modules_.size(); ++t)
    if (configs_[t].name == table) return *modules_[t];
  TESSERA_FAIL("managed collision: there is no table {}", table);
}

std::vector<NamedTensor> ManagedCollisionCollection::StateDict(Context& ctx,
                                                               const std::string& prefix) const {
  std::vector<NamedTensor> all;
  for (size_t t = 0; t < modules_.size(); ++t)
    for (NamedTensor& state : modules_[t]->StateDict(ctx))
      all.push_back({internal::StatePrefix(prefix, configs_[t].name) + state.name, state.tensor});
  return all;
}

void ManagedCollisionCollection::LoadStateDict(Context& ctx,
                                               const std::vector<NamedTensor>& tensors,
                                               const std::string& prefix) {
  std::vector<std::vector<NamedTensor>> of_table(modules_.size());
  for (const NamedTensor& tensor : tensors) {
    size_t t = 0;
    while (t < modules_.size() &&
           !tensor.name.starts_with(internal::StatePrefix(prefix, configs_[t].name) + "_"))
      ++t;
    TESSERA_CHECK(t < modules_.size(), "managed collision: {} is the state of no table",
                  tensor.name);
    const size_t skipped = internal::StatePrefix(prefix, configs_[t].name).size();
    of_table[t].push_back({tensor.name.substr(skipped), tensor.tensor});
  }
  for (size_t t = 0; t < modules_.size(); ++t) modules_[t]->LoadStateDict(ctx, of_table[t]);
}

}  // namespace tessera
