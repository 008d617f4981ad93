#include "bench/eviction/eviction_policies.h"

#include <algorithm>
#include <unordered_set>

#include "runtime/base/check.h"
#include "runtime/tensor.h"

namespace tessera::bench {
namespace {

using Policies = std::vector<std::pair<std::string, ManagedCollisionConfig>>;

constexpr MchEviction kEvictions[] = {MchEviction::kLru, MchEviction::kLfu,
                                      MchEviction::kDistanceLfu};
constexpr const char* kEvictionNames[] = {"lru", "lfu", "distance_lfu"};

constexpr AdmissionConfig kFilters[] = {
    {AdmissionKind::kAll},
    {.kind = AdmissionKind::kDynamic, .skew_multiplier = 3},
    {AdmissionKind::kAverage},
    {.kind = AdmissionKind::kProbabilistic, .per_id_probability = 0.3}};

void AddGrowing(Policies& policies) {
  for (size_t e = 0; e < std::size(kEvictions); ++e)
    for (const int64_t admit_after : {1, 2})
      policies.emplace_back(
          Format("growing_{}{}", kEvictionNames[e], admit_after == 1 ? "" : "_twice"),
          GrowingIndexOptions{.score = kEvictions[e], .admit_after = admit_after});
}

void AddMch(Policies& policies) {
  for (size_t e = 0; e < std::size(kEvictions); ++e)
    for (const AdmissionConfig& filter : kFilters)
      policies.emplace_back(
          Format("mch_{}{}", kEvictionNames[e],
                 filter.kind == AdmissionKind::kAll ? "" : "_" + ToString(filter.kind)),
          MchConfig{.eviction = kEvictions[e], .admission = filter});
}

void AddHashZch(Policies& policies) {
  const std::pair<const char*, HashZchEviction> kinds[] = {{"zch_none", HashZchEviction::kNone},
                                                           {"zch_ttl", HashZchEviction::kSingleTtl},
                                                           {"zch_lru", HashZchEviction::kLru}};
  for (const auto& [name, eviction] : kinds)
    policies.emplace_back(name, HashZchOptions{.eviction = eviction,
                                               .clock = HashZchClock::kForwards,
                                               .disable_fallback = true});
}

const Policies& All() {
  static const Policies all = [] {
    Policies policies;
    AddGrowing(policies);
    AddMch(policies);
    AddHashZch(policies);
    return policies;
  }();
  return all;
}

}  // namespace

std::vector<std::string> EvictionPolicies() {
  std::vector<std::string> names;
  for (const auto& policy : All()) names.push_back(policy.first);
  return names;
}

Policy MakePolicy(Context& ctx, const std::string& name, const PolicyOptions& options) {
  const auto known = std::ranges::find(All(), name, &Policies::value_type::first);
  if (known == All().end()) throw Error(Format("there is no policy '{}'", name));
  ManagedCollisionConfig config = known->second;
  Policy policy;
  BaseEmbeddingConfig table;
  table.name = name;
  table.num_embeddings = options.capacity + 1;
  if (std::holds_alternative<GrowingIndexOptions>(config)) policy.miss_row = 0;
  if (auto* mch = std::get_if<MchConfig>(&config)) {
    policy.miss_row = options.capacity;
    mch->eviction_interval = options.interval;
  }
  if (auto* zch = std::get_if<HashZchOptions>(&config)) {
    table.num_embeddings = options.capacity;
    if (zch->eviction == HashZchEviction::kSingleTtl) zch->single_ttl = options.ttl;
  }
  policy.module = MakeManagedCollisionModule(ctx, config, table);
  return policy;
}

int64_t HitsOf(Context& ctx, const Policy& policy, std::span<const int64_t> ids, int64_t batch,
               const SeeRows& see) {
  int64_t hits = 0;
  std::unordered_set<int64_t> named;
  for (size_t begin = 0; begin < ids.size(); begin += static_cast<size_t>(batch)) {
    const auto part = ids.subspan(begin, std::min(static_cast<size_t>(batch), ids.size() - begin));
    const Tensor values = Tensor::From(ctx, std::vector<int64_t>(part.begin(), part.end()));
    const auto own_rows = [&](bool training) {
      std::vector<int64_t> rows =
          policy.module->Forward(ctx, {&values, 1}, training)[0].ToVector<int64_t>();
      std::ranges::replace(rows, policy.miss_row, -1);
      return rows;
    };
    const std::vector<int64_t> before = own_rows(false), after = own_rows(true);
    named.clear();
    for (size_t i = 0; i < part.size(); ++i) {
      const bool repeat = !named.insert(part[i]).second;
      hits += before[i] >= 0 || (repeat && after[i] >= 0);
    }
    const Tensor evicted = policy.module->Evict(ctx);
    if (see) see(part, after, evicted.span<int64_t>());
  }
  return hits;
}

}  // namespace tessera::bench
