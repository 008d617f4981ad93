#include "embedding/itep/itep_module.h"

#include <algorithm>
#include <map>

#include "embedding/lookup/index_remap.h"
#include "embedding/lookup/row_access.h"
#include "sparse/ops/select.h"

namespace tessera {
namespace {

bool Divides(int64_t d, int64_t n) { return n % d == 0; }

bool IsPruned(int64_t n, int64_t interval) {
  return (n < 10 && Divides(3, n + 1)) || (n < 100 && Divides(30, n + 1)) ||
         (n < 1000 && Divides(300, n + 1)) || Divides(interval, n + 1);
}

bool IsCounted(int64_t n) {
  return n < 10 || (n < 100 && Divides(19, n + 1)) || Divides(39, n + 1);
}

constexpr float kDecay = 0.98f;

// The ids of a key for each example of the whole batch, also with inverse indices.
Tensor IdsOfExamples(Context& ctx, const KeyedJaggedTensor& features, const std::string& key) {
  const JaggedTensor bags = features.At(ctx, key);
  const InverseIndices* inverse = features.inverse_indices_or_none();
  if (inverse == nullptr) return bags.values().value();
  const auto place = std::find(inverse->keys.begin(), inverse->keys.end(), key);
  TESSERA_CHECK(place != inverse->keys.end(), "ITEP: no inverse indices of feature {}", key);
  const int64_t row = place - inverse->keys.begin(), batch = inverse->indices.dim(1);
  const Tensor examples = inverse->indices.Rows(row, row + 1).Reshape({batch});
  return JaggedIndexSelect(ctx, bags.values(), bags.lengths(ctx), examples).values.value();
}

std::string AddressName(const std::string& prefix, const std::string& table) {
  return prefix + table + "_itp_address_lookup";
}
std::string UtilName(const std::string& prefix, const std::string& table) {
  return prefix + table + "_itp_row_util";
}

// Throws Error unless every row but 0 has one owner.
void CheckOwners(const std::string& table, const std::vector<int64_t>& address, int64_t rows) {
  std::vector<bool> owned(static_cast<size_t>(rows));
  int64_t owners = 0;
  for (const int64_t row : address) {
    TESSERA_CHECK(0 <= row && row < rows, "ITEP: an id of table {} has row {} of {}", table, row,
                  rows);
    if (row == 0) continue;
    TESSERA_CHECK(!owned[static_cast<size_t>(row)], "ITEP: row {} of table {} has two owners", row,
                  table);
    owned[static_cast<size_t>(row)] = true;
    ++owners;
  }
  TESSERA_CHECK_EQ(owners, rows - 1, "ITEP: rows of table {} that have an owner", table);
}

}  // namespace

GenericITEPModule::GenericITEPModule(Context& ctx, std::vector<BaseEmbeddingConfig> configs,
                                     ItepOptions options)
    : configs_(std::move(configs)), options_(std::move(options)) {
  TESSERA_CHECK_GE(options_.pruning_interval, 1, "ITEP: pruning_interval");
  for (const auto& [name, ids] : options_.table_name_to_unpruned_hash_sizes)
    AddTable(ctx, name, ids);
}

void GenericITEPModule::AddTable(Context& ctx, const std::string& name, int64_t ids) {
  const auto config = std::find_if(configs_.begin(), configs_.end(),
                                   [&](const BaseEmbeddingConfig& c) { return c.name == name; });
  TESSERA_CHECK(config != configs_.end(), "ITEP: there is no table {}", name);
  TESSERA_CHECK(ids >= config->num_embeddings, "ITEP: table {} has {} rows for {} ids", name,
                config->num_embeddings, ids);
  TESSERA_CHECK(config->index_remap == nullptr, "ITEP: table {} is pruned already", name);
  for (const Pruned& other : pruned_)
    TESSERA_CHECK(ConfigOf(other).name != name, "ITEP: table {} comes twice", name);
  if (ids == config->num_embeddings) return;
  pruned_.push_back({static_cast<size_t>(config - configs_.begin()),
                     internal::ItepTable(ctx, ids, config->num_embeddings),
                     {}});
  CheckReadOnce(pruned_.back());
}

void GenericITEPModule::CheckReadOnce(const Pruned& pruned) const {
  for (size_t t = 0; t < configs_.size(); ++t)
    for (const std::string& feature : ConfigOf(pruned).feature_names)
      TESSERA_CHECK(t == pruned.table || std::find(configs_[t].feature_names.begin(),
                                                   configs_[t].feature_names.end(),
                                                   feature) == configs_[t].feature_names.end(),
                    "ITEP: feature {} is read by the tables {} and {}, and its ids can become the "
                    "rows of one only",
                    feature, ConfigOf(pruned).name, configs_[t].name);
}

KeyedJaggedTensor GenericITEPModule::Forward(Context& ctx, const KeyedJaggedTensor& features,
                                             int64_t iter, bool training) {
  if (!options_.enable_pruning || pruned_.empty()) return features;
  for (const Pruned& p : pruned_)
    for (const std::string& feature : ConfigOf(p).feature_names)
      (void)features.IndexOf(feature);  // a missing one is an Error before anything changes
  if (training && IsPruned(iter, options_.pruning_interval)) {
    const float decay = iter > options_.pruning_interval ? kDecay : 1.0f;
    for (Pruned& p : pruned_) {
      const std::vector<int64_t> rows = p.rows.Prune(ctx, decay, iter);
      p.handed_on.insert(p.handed_on.end(), rows.begin(), rows.end());
    }
  }
  KeyedJaggedTensor remapped = Remap(ctx, features);
  if (training && IsCounted(iter)) Count(ctx, features);
  return remapped;
}

void GenericITEPModule::Count(Context& ctx, const KeyedJaggedTensor& features) {
  for (Pruned& p : pruned_)
    for (const std::string& feature : ConfigOf(p).feature_names) {
      const Tensor ids = IdsOfExamples(ctx, features, feature);
      p.rows.Count(ctx, all_ids_ ? all_ids_(ctx, ids) : ids);
    }
}

KeyedJaggedTensor GenericITEPModule::Remap(Context& ctx, const KeyedJaggedTensor& features) const {
  const std::vector<int64_t>& offsets = features.offset_per_key();
  std::vector<RemappedIds> ranges;
  for (const Pruned& p : pruned_)
    for (const std::string& feature : ConfigOf(p).feature_names) {
      const auto key = static_cast<size_t>(features.IndexOf(feature));
      ranges.push_back({features.values(), offsets[key], offsets[key + 1], &p.rows.remap()});
    }
  const std::vector<Tensor> rows = RemapIds(ctx, ranges);
  const Tensor values = features.values().Clone(ctx);
  for (size_t i = 0; i < ranges.size(); ++i)
    values.Rows(ranges[i].begin, ranges[i].end)
        .CopyFrom(ctx, rows[i].Rows(ranges[i].begin, ranges[i].end));
  return features.WithValues(values);
}

std::vector<Tensor> GenericITEPModule::TakeHandedOn(Context& ctx) {
  std::vector<Tensor> rows(configs_.size());
  for (Tensor& t : rows) t = Tensor::Empty(ctx, {0}, DType::kI64);
  for (Pruned& p : pruned_) {
    std::sort(p.handed_on.begin(), p.handed_on.end());
    p.handed_on.erase(std::unique(p.handed_on.begin(), p.handed_on.end()), p.handed_on.end());
    rows[p.table] = Tensor::From(ctx, p.handed_on);
    p.handed_on.clear();
  }
  return rows;
}

void GenericITEPModule::CheckIdsSync(Context& ctx, const KeyedJaggedTensor& features,
                                     BoundsCheckMode mode) const {
  for (const Pruned& p : pruned_) {
    if (ConfigOf(p).bounds_check.value_or(mode) != BoundsCheckMode::kFatal) continue;
    for (const std::string& feature : ConfigOf(p).feature_names)
      CheckRowIdsSync(ctx, Format("feature {} of table {}", feature, ConfigOf(p).name),
                      features.At(ctx, feature).values().value(), p.rows.ids());
  }
}

std::vector<NamedTensor> GenericITEPModule::StateDict(Context& ctx,
                                                      const std::string& prefix) const {
  std::vector<NamedTensor> state;
  for (const Pruned& p : pruned_) {
    const std::string& table = ConfigOf(p).name;
    state.push_back({AddressName(prefix, table), Tensor::From(ctx, p.rows.address())});
    state.push_back({UtilName(prefix, table), p.rows.util().Clone(ctx)});
  }
  return state;
}

void GenericITEPModule::LoadStateDict(Context& ctx, const std::vector<NamedTensor>& tensors,
                                      const std::string& prefix) {
  std::map<std::string, Tensor> given;
  for (const NamedTensor& t : tensors) given[t.name] = t.tensor;
  TESSERA_CHECK_EQ(tensors.size(), 2 * pruned_.size(), "ITEP: tensors of the state");
  const auto take = [&](const std::string& name, DType dtype, int64_t ids) {
    TESSERA_CHECK(given.count(name) == 1, "ITEP: {} is missing", name);
    const Tensor& t = given[name];
    TESSERA_CHECK(t.dtype() == dtype && t.shape() == Shape{ids},
                  "ITEP: {} is {} {}; expected {} [{}]", name, t.dtype(), t.shape(), dtype, ids);
    return t;
  };
  std::vector<std::pair<std::vector<int64_t>, Tensor>> states;
  for (const Pruned& p : pruned_) {
    const std::string& table = ConfigOf(p).name;
    states.emplace_back(
        take(AddressName(prefix, table), DType::kI64, p.rows.ids()).ToVector<int64_t>(),
        take(UtilName(prefix, table), DType::kF32, p.rows.ids()));
    CheckOwners(table, states.back().first, p.rows.rows());
  }
  for (size_t i = 0; i < pruned_.size(); ++i) {
    pruned_[i].rows.Set(ctx, std::move(states[i].first), states[i].second);
    pruned_[i].handed_on.clear();
  }
}

}  // namespace tessera
