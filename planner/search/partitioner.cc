#include "planner/search/partitioner.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "planner/model/at.h"
#include "runtime/base/check.h"
#include "runtime/base/names.h"

namespace tessera {
namespace {

using internal::At;

constexpr const char* kKindNames[] = {"greedy_perf", "memory_balanced"};
constexpr const char* kSortNames[] = {"storage", "perf"};
constexpr int64_t kSearchGap = 10 << 20;  // bytes; where the search for a cap ends

struct Rank {
  int rank = 0;
  Storage free;
  ShardPerf perf = {};
  double total = 0;

  bool Fits(const ShardRun& shard) const { return shard.storage.FitsIn(free); }
  void Take(const ShardRun& shard) {
    free -= shard.storage;
    perf += shard.perf;
    total = perf.total();
  }
};

// Options that go to one group of ranks together.
struct Group {
  std::vector<size_t> options;  // indices into the proposal
  int64_t module_options = 0;   // of their module, for balance_modules
  Storage storage;
  double perf = 0;
};

class GreedyPartitioner {
 public:
  GreedyPartitioner(const Topology& topology, const std::vector<Storage>& capacity,
                    const Proposal& proposal)
      : topology_(topology), proposal_(proposal), group_size_(topology.group_size()) {
    for (const Storage& free : capacity)
      ranks_.push_back({.rank = static_cast<int>(ranks_.size()), .free = free});
    for (int r = 0; r < topology.world_size; ++r) all_.push_back(r);
    placement_.ranks.resize(proposal.size());
  }

  Placement Run(SortBy sort_by, bool balance_modules) {
    for (size_t o = 0; o < proposal_.size(); ++o)
      if (proposal_[o]->partition_by() == PartitionBy::kUniform && !InOrder(o, all_))
        return Failed(o);
    for (const Group& group : Groups(sort_by, balance_modules))
      if (!Place(group)) return Failed(group.options[0]);
    return std::move(placement_);
  }

 private:
  Placement Failed(size_t option) const { return {.ranks = {}, .failed = proposal_[option]}; }

  bool Place(const Group& group) {
    const size_t first = group.options[0];
    switch (proposal_[first]->partition_by()) {
      case PartitionBy::kDevice:
        return std::all_of(group.options.begin(), group.options.end(), [&](size_t o) {
          return LeastLoaded(o, all_, topology_.local_world_size, NeedsDistinctRanks(o));
        });
      case PartitionBy::kHost:
        return OnHost(group);
      default:
        return OnHosts(group);
    }
  }

  bool NeedsDistinctRanks(size_t o) const {
    return proposal_[o]->type == ShardingType::kColumnWise &&
           proposal_[o]->kernel == PlanKernel::kKeyValue;
  }

  // Puts shard i on ranks[i].
  bool InOrder(size_t o, const std::vector<int>& ranks) {
    const ShardingOption& option = *proposal_[o];
    if (option.num_shards() != static_cast<int64_t>(ranks.size())) return false;
    size_t i = 0;
    for (const ShardRun& run : option.shards) {
      for (int64_t k = 0; k < run.count; ++k) {
        Rank& rank = ranks_[At(ranks[i++])];
        if (!rank.Fits(run)) return false;
        rank.Take(run);
      }
    }
    placement_.ranks[o] = ranks;
    return true;
  }

  // Puts each shard on the least loaded of `ranks`; ties are broken by the place in a node of
  // `local` ranks.
  bool LeastLoaded(size_t o, const std::vector<int>& ranks, int local, bool distinct) {
    std::vector<int>& placed = placement_.ranks[o];
    placed.clear();
    for (const ShardRun& run : proposal_[o]->shards) {
      for (int64_t k = 0; k < run.count; ++k) {
        const int best = Best(run, ranks, local, distinct ? &placed : nullptr);
        if (best < 0) return false;
        ranks_[At(best)].Take(run);
        placed.push_back(best);
      }
    }
    return true;
  }

  int Best(const ShardRun& run, const std::vector<int>& ranks, int local,
           const std::vector<int>* taken) const {
    const Rank* best = nullptr;
    for (const int r : ranks) {
      const Rank& rank = ranks_[At(r)];
      const bool better = best == nullptr || rank.total < best->total ||
                          (rank.total == best->total && r % local < best->rank % local);
      if (!better || !rank.Fits(run)) continue;
      if (taken != nullptr && std::find(taken->begin(), taken->end(), r) != taken->end()) continue;
      best = &rank;
    }
    return best == nullptr ? -1 : best->rank;
  }

  std::vector<int> HostRanks(int host) const {
    std::vector<int> ranks(At(group_size_));
    std::iota(ranks.begin(), ranks.end(), host * group_size_);
    return ranks;
  }

  // Hosts from the least to the most loaded.
  std::vector<int> Hosts() const {
    const int count = topology_.world_size / group_size_;
    std::vector<double> load(At(count));
    for (const Rank& rank : ranks_)
      if (rank.rank / group_size_ < count) load[At(rank.rank / group_size_)] += rank.total;
    std::vector<int> hosts(At(count));
    std::iota(hosts.begin(), hosts.end(), 0);
    std::stable_sort(hosts.begin(), hosts.end(),
                     [&](int a, int b) { return load[At(a)] < load[At(b)]; });
    return hosts;
  }

  bool FitsHost(const Storage& storage, const std::vector<int>& ranks) const {
    Storage free;
    for (const int r : ranks) free += ranks_[At(r)].free;
    return storage.FitsIn(free);
  }

  // Calls place(); undoes what it did to `ranks` if it fails.
  template <typename Fn>
  bool Try(const std::vector<int>& ranks, Fn&& place) {
    std::vector<Rank> before;
    for (const int r : ranks) before.push_back(ranks_[At(r)]);
    if (place()) return true;
    for (const Rank& rank : before) ranks_[At(rank.rank)] = rank;
    return false;
  }

  bool OnHost(const Group& group) {
    for (const int host : Hosts()) {
      const std::vector<int> ranks = HostRanks(host);
      if (!FitsHost(group.storage, ranks)) continue;
      if (Try(ranks, [&] { return AllOnHost(group, ranks); })) return true;
    }
    return false;
  }

  bool AllOnHost(const Group& group, const std::vector<int>& ranks) {
    return std::all_of(group.options.begin(), group.options.end(), [&](size_t o) {
      if (proposal_[o]->type == ShardingType::kTableRowWise) return InOrder(o, ranks);
      return proposal_[o]->type == ShardingType::kTableColumnWise &&
             LeastLoaded(o, ranks, group_size_, false);
    });
  }

  bool OnHosts(const Group& group) {
    const size_t o = group.options[0];
    const int64_t shards = proposal_[o]->num_shards();
    if (group.options.size() > 1 || shards % group_size_ != 0) return false;
    const auto blocks = At(static_cast<int>(shards / group_size_));
    const std::vector<int> hosts = Hosts();
    if (blocks >= hosts.size()) return OnWindow(o, hosts, 0, blocks);
    for (size_t begin = 0; begin + blocks <= hosts.size(); ++begin)
      if (OnWindow(o, hosts, begin, blocks)) return true;
    return false;
  }

  // Puts the option on `blocks` hosts from hosts[begin] on, around the end.
  bool OnWindow(size_t o, const std::vector<int>& hosts, size_t begin, size_t blocks) {
    std::vector<int> ranks;
    for (size_t b = 0; b < blocks; ++b)
      for (const int r : HostRanks(hosts[(begin + b) % hosts.size()])) ranks.push_back(r);
    return Try(all_, [&] { return InOrder(o, ranks); });
  }

  std::vector<Group> Groups(SortBy sort_by, bool balance_modules) const {
    std::map<int, int64_t> options_of_module;
    for (const ShardingOption* option : proposal_) ++options_of_module[option->module];
    std::vector<Group> groups;
    std::map<std::string, size_t> of_dependency;
    for (size_t o = 0; o < proposal_.size(); ++o) {
      const ShardingOption& option = *proposal_[o];
      if (option.partition_by() == PartitionBy::kUniform) continue;
      size_t at = groups.size();
      if (!option.dependency.empty())
        at = of_dependency.emplace(option.dependency, at).first->second;
      if (at == groups.size()) {
        groups.emplace_back();
        if (balance_modules) groups.back().module_options = options_of_module[option.module];
      }
      groups[at].options.push_back(o);
      groups[at].storage += option.total_storage();
      groups[at].perf += option.total_perf();
    }
    std::stable_sort(groups.begin(), groups.end(), [&](const Group& a, const Group& b) {
      if (a.module_options != b.module_options) return a.module_options < b.module_options;
      return sort_by == SortBy::kStorage ? a.storage > b.storage : a.perf > b.perf;
    });
    return groups;
  }

  const Topology& topology_;
  const Proposal& proposal_;
  int group_size_;
  std::vector<Rank> ranks_;
  std::vector<int> all_;
  Placement placement_;
};

double Busiest(int world_size, const Proposal& proposal, const Placement& placement) {
  const std::vector<double> perf = RankPerf(world_size, proposal, placement);
  return *std::max_element(perf.begin(), perf.end());
}

Placement MemoryBalanced(const PartitionerSettings& settings, const Topology& topology,
                         const std::vector<Storage>& capacity, const Proposal& proposal) {
  const auto run = [&](std::vector<Storage> caps) {
    return GreedyPartitioner(topology, caps, proposal).Run(SortBy::kPerf, settings.balance_modules);
  };
  Placement best = run(capacity);
  if (best.failed != nullptr) return best;
  TESSERA_CHECK(settings.max_search_count >= 0 && settings.tolerance >= 0,
                "partitioner: max_search_count {}, tolerance {}; expected at least 0 each",
                settings.max_search_count, settings.tolerance);
  const double most = Busiest(topology.world_size, proposal, best) * (1 + settings.tolerance);
  int64_t high = 0, largest = 0;
  Storage sum;
  for (const Storage& used : RankStorage(topology.world_size, proposal, best)) {
    high = std::max(high, used.hbm);
    sum += used;
  }
  for (const ShardingOption* option : proposal)
    largest = std::max(largest, option->max_storage().hbm);
  int64_t low = std::max(sum.hbm / topology.world_size, largest);
  for (int i = 0; i < settings.max_search_count && low + kSearchGap < high; ++i) {
    const int64_t middle = low + (high - low) / 2;
    std::vector<Storage> caps = capacity;
    for (Storage& cap : caps) cap.hbm = std::min(cap.hbm, middle);
    Placement placement = run(caps);
    if (placement.failed == nullptr && Busiest(topology.world_size, proposal, placement) <= most) {
      best = std::move(placement);
      high = middle;
    } else {
      low = middle;
    }
  }
  return best;
}

}  // namespace

std::string ToString(PartitionerKind kind) { return kKindNames[static_cast<int>(kind)]; }
PartitionerKind ParsePartitionerKind(const std::string& name) {
  return internal::ParseName<PartitionerKind>(name, "partitioner", kKindNames);
}
std::string ToString(SortBy sort_by) { return kSortNames[static_cast<int>(sort_by)]; }
SortBy ParseSortBy(const std::string& name) {
  return internal::ParseName<SortBy>(name, "sort_by", kSortNames);
}

Placement Partition(const PartitionerSettings& settings, const Topology& topology,
                    const std::vector<Storage>& capacity, const Proposal& proposal) {
  if (settings.kind == PartitionerKind::kMemoryBalanced)
    return MemoryBalanced(settings, topology, capacity, proposal);
  return GreedyPartitioner(topology, capacity, proposal)
      .Run(settings.sort_by, settings.balance_modules);
}

std::vector<double> RankPerf(int world_size, const Proposal& proposal, const Placement& placement) {
  std::vector<double> perf(At(world_size));
  for (size_t o = 0; o < proposal.size(); ++o)
    proposal[o]->ForEachShard([&](int64_t i, const ShardRun& run) {
      perf[At(placement.ranks[o][static_cast<size_t>(i)])] += run.perf.total();
    });
  return perf;
}

std::vector<Storage> RankStorage(int world_size, const Proposal& proposal,
                                 const Placement& placement) {
  std::vector<Storage> storage(At(world_size));
  for (size_t o = 0; o < proposal.size(); ++o)
    proposal[o]->ForEachShard([&](int64_t i, const ShardRun& run) {
      storage[At(placement.ranks[o][static_cast<size_t>(i)])] += run.storage;
    });
  return storage;
}

}  // namespace tessera
