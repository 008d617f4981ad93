#include "planner/search/proposer.h"

#include <map>
#include <tuple>

#include "planner/search/proposer_impl.h"
#include "runtime/base/names.h"

namespace tessera {
namespace internal {

Candidates AllOf(const std::vector<ShardingOption>& options) {
  Candidates all;
  for (const ShardingOption& option : options) all.push_back(&option);
  return all;
}

std::vector<Candidates> ByTable(const Candidates& options) {
  std::vector<Candidates> tables;
  std::map<int, size_t> place;
  for (const ShardingOption* option : options) {
    const auto [at, added] = place.try_emplace(option->table, tables.size());
    if (added) tables.emplace_back();
    tables[at->second].push_back(option);
  }
  return tables;
}

namespace {

constexpr const char* kNames[] = {"grid_search", "greedy", "uniform", "dynamic_programming",
                                  "embedding_offload_scaleup"};

// Proposals that do not depend on ratings.
class BlindProposer : public Proposer {
 public:
  void Feedback(std::optional<double>) override {}
};

class GridSearch : public BlindProposer {
 public:
  GridSearch(const SearchSpace& space, int64_t max_proposals) {
    int64_t combinations = 1;
    for (const Candidates& options : ByTable(AllOf(space.options))) {
      if (__builtin_mul_overflow(combinations, static_cast<int64_t>(options.size()), &combinations))
        combinations = max_proposals + 1;
      tables_.push_back(SortedBy(options, [](const auto& o) { return Score(o, true); }));
    }
    at_.resize(tables_.size());
    done_ = tables_.empty() || combinations > max_proposals;
  }

  Proposal Next() override {
    if (done_) return {};
    Proposal proposal;
    for (size_t t = 0; t < tables_.size(); ++t) proposal.push_back(tables_[t][at_[t]]);
    StepOn();
    return proposal;
  }

 private:
  // Steps to the next proposal; the last table counts fastest.
  void StepOn() {
    for (size_t t = tables_.size(); t-- > 0;) {
      if (++at_[t] < tables_[t].size()) return;
      at_[t] = 0;
    }
    done_ = true;
  }

  std::vector<Candidates> tables_;
  std::vector<size_t> at_;
  bool done_ = false;
};

class Uniform : public BlindProposer {
 public:
  Uniform(const SearchSpace& space, bool use_depth) {
    const Candidates all = AllOf(space.options);
    const size_t tables = ByTable(all).size();
    std::vector<Candidates> by_type;  // in the order of first appearance
    std::map<ShardingType, size_t> place;
    for (const ShardingOption* option : all) {
      const auto [at, added] = place.try_emplace(option->type, by_type.size());
      if (added) by_type.emplace_back();
      by_type[at->second].push_back(option);
    }
    for (const Candidates& options : by_type) {
      const std::vector<Candidates> of_tables = ByTable(options);
      if (of_tables.size() != tables) continue;
      Proposal& proposal = proposals_.emplace_back();
      for (const Candidates& table : of_tables)
        proposal.push_back(SortedBy(table, [&](const auto& o) { return Score(o, use_depth); })[0]);
    }
  }

  Proposal Next() override { return at_ < proposals_.size() ? proposals_[at_++] : Proposal{}; }

 private:
  std::vector<Proposal> proposals_;
  size_t at_ = 0;
};

class Greedy : public Proposer {
 public:
  Greedy(const SearchSpace& space, bool use_depth, std::optional<int> threshold)
      : threshold_(threshold.value_or(0)) {
    for (const Candidates& options : ByTable(AllOf(space.options))) {
      tables_.push_back(SortedBy(options, [&](const auto& o) { return Score(o, use_depth); }));
      current_.push_back(tables_.back()[0]);
      size_.push_back(SizeOf(*current_.back()));
    }
    at_.resize(tables_.size());
  }

  Proposal Next() override {
    if (!started_) {
      started_ = true;
      return current_;
    }
    return StepOn() ? current_ : Proposal{};
  }

  void Feedback(std::optional<double> rating) override {
    if (threshold_ == 0 || rating.value_or(0) == 0) return;
    ++worse_;
    if (best_ && *rating >= *best_) return;
    best_ = rating;
    worse_ = 0;
  }

 private:
  using Size = std::tuple<int64_t, int64_t, int64_t, int64_t>;
  static Size SizeOf(const ShardingOption& option) {
    const Storage most = option.max_storage(), sum = option.total_storage();
    return {most.hbm, sum.hbm, most.ddr, sum.ddr};
  }

  bool StepOn() {
    if (threshold_ > 0 && worse_ > threshold_) return false;
    Size largest = {};
    size_t who = tables_.size();
    for (size_t t = 0; t < tables_.size(); ++t) {
      if (at_[t] + 1 >= tables_[t].size() || size_[t] <= largest) continue;
      largest = size_[t];
      who = t;
    }
    if (who == tables_.size()) return false;
    current_[who] = tables_[who][++at_[who]];
    size_[who] = SizeOf(*current_[who]);
    return true;
  }

  std::vector<Candidates> tables_;
  std::vector<size_t> at_;
  std::vector<Size> size_;
  Proposal current_;
  bool started_ = false;
  int threshold_, worse_ = 0;
  std::optional<double> best_;
};

}  // namespace
}  // namespace internal

std::string ToString(ProposerKind kind) { return internal::kNames[static_cast<int>(kind)]; }
ProposerKind ParseProposerKind(const std::string& name) {
  return internal::ParseName<ProposerKind>(name, "proposer", internal::kNames);
}

std::vector<ProposerSettings> TorchRecProposers() {
  return {{.kind = ProposerKind::kGridSearch},
          {.kind = ProposerKind::kGreedy},
          {.kind = ProposerKind::kGreedy, .use_depth = false},
          {.kind = ProposerKind::kUniform}};
}

std::unique_ptr<Proposer> MakeProposer(const ProposerSettings& settings, const SearchSpace& space) {
  using namespace internal;  // NOLINT: the proposers
  switch (settings.kind) {
    case ProposerKind::kGridSearch:
      return std::make_unique<GridSearch>(space, settings.max_proposals);
    case ProposerKind::kGreedy:
      return std::make_unique<Greedy>(space, settings.use_depth, settings.threshold);
    case ProposerKind::kUniform:
      return std::make_unique<Uniform>(space, settings.use_depth);
    case ProposerKind::kDynamicProgramming:
      return MakeDynamicProgramming(settings, space);
    case ProposerKind::kEmbeddingOffloadScaleup:
      return MakeOffloadScaleup(settings, space);
  }
  TESSERA_FAIL("proposer {}", static_cast<int>(settings.kind));
}

}  // namespace tessera
