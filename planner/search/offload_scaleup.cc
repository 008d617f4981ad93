// Gives the HBM that a plan of offloaded tables leaves to their caches: a search over the budget
// (Luus and Jaakola's, a window that narrows round the best point), and, for a budget, a share for
// each table by how much its cache is worth.
#include <cmath>
#include <deque>
#include <limits>
#include <random>

#include "planner/search/proposer_impl.h"
#include "runtime/base/check.h"

namespace tessera::internal {
namespace {

constexpr int kMaxProposals = 16, kMaxShares = 128, kMaxDraws = 10000;
constexpr uint32_t kSeed = 42;
constexpr double kWhole = 0.9999, kNarrow = 0.95, kUnplaced = 1e99;

int64_t SumHbm(const Proposal& proposal) {
  Storage sum;
  for (const ShardingOption* option : proposal) sum += option->total_storage();
  return sum.hbm;
}

// Finds the point of least cost in [left, right], trying one point at a time.
class BudgetSearch {
 public:
  BudgetSearch(double right, double cost_left)
      : right_(right), cost_left_(cost_left), width_(right) {
    best_ = Uniform(left_, right_);
    next_ = best_;
  }

  double next() const { return next_; }

  // Ends the interval at `reached`, a point that could not be placed.
  void Shrink(double reached) {
    right_ = reached;
    cost_right_ = std::numeric_limits<double>::infinity();
    width_ = right_ - left_;
    best_ = Clamp(best_);
  }

  // Takes the cost of the last point, and draws the next one; false at the end.
  bool Tell(double cost) {
    ++step_;
    if (step_ == kMaxProposals) return false;
    if (step_ == 1) {
      best_cost_ = cost;
    } else if (cost <= best_cost_) {
      best_ = point_;
      best_cost_ = cost;
      width_ *= kNarrow;
    }
    if (point_ == left_)
      cost_left_ = cost;
    else if (point_ == right_)
      cost_right_ = cost;
    for (int draws = 0; draws < kMaxDraws; ++draws) {
      point_ = next_ = Clamp(best_ + Uniform(-width_, width_));
      if (!(point_ == left_ && cost_left_) && !(point_ == right_ && cost_right_)) return true;
    }
    return false;
  }

 private:
  double Uniform(double low, double high) {
    return low + (high - low) * (static_cast<double>(generator_() & 0xFFFFFF) / 16777216.0);
  }
  double Clamp(double x) const { return std::min(std::max(x, left_), right_); }

  std::mt19937 generator_{kSeed};
  double left_ = 0, right_;
  std::optional<double> cost_left_, cost_right_;
  double width_, best_ = 0, best_cost_ = 0, next_ = 0;
  double point_ = std::numeric_limits<double>::quiet_NaN();
  int step_ = 0;
};

class OffloadScaleup : public Proposer {
 public:
  OffloadScaleup(const ProposerSettings& settings, const SearchSpace& space)
      : model_(*space.model), reprice_(space.reprice) {
    for (const Candidates& options : ByTable(AllOf(space.options))) {
      const Candidates sorted =
          SortedBy(options, [&](const auto& o) { return Score(o, settings.use_depth); });
      const auto cached =
          std::find_if(sorted.begin(), sorted.end(), [](const auto* o) { return IsOffloaded(*o); });
      start_.push_back(FusedIfSmaller(cached == sorted.end() ? *sorted[0] : **cached));
    }
    for (const Storage& rank : space.capacity) capacity_.push_back(rank);
    for (const ShardingOption* option : start_)
      if (Scalable(*option)) scalable_.push_back(Model(*option));
  }

  Proposal Next() override {
    if (done_ || start_.empty()) return {};
    if (!started_) {
      started_ = true;
      last_ = start_;
    } else {
      last_ = scalable_.empty() ? Proposal{} : Grown(search_->next());
    }
    return last_;
  }

  void Feedback(std::optional<double> rating) override {
    if (!search_) {
      done_ = !rating;
      if (rating) search_.emplace(MostBudget(), *rating);
      return;
    }
    if (!rating) search_->Shrink(static_cast<double>(SumHbm(last_) - SumHbm(start_)));
    done_ = !search_->Tell(rating.value_or(kUnplaced));
  }

 private:
  // HBM of a cached table as slope · load factor + base; all of it when fused.
  struct CacheModel {
    double slope, base, fused, start, weight;
  };

  static bool IsOffloaded(const ShardingOption& o) {
    return o.kernel == PlanKernel::kFusedUvmCaching;
  }
  const ShardingOption* Keep(ShardingOption option) {
    return &made_.emplace_back(std::move(option));
  }
  ShardingOption Fused(const ShardingOption& o) const {
    return reprice_(o, PlanKernel::kFused, {});
  }

  const ShardingOption* FusedIfSmaller(const ShardingOption& o) {
    if (!IsOffloaded(o)) return &o;
    ShardingOption fused = Fused(o);
    return fused.total_storage().hbm < o.total_storage().hbm ? Keep(std::move(fused)) : &o;
  }

  double Weight(const ShardingOption& o) const {
    const TableConstraints& c = model_.constraints_of(model_.tables[static_cast<size_t>(o.table)]);
    if (!c.cache_params || !c.cache_params->statistics) return 0;
    return c.cache_params->statistics->cacheability * c.cache_params->statistics->expected_lookups;
  }
  bool Scalable(const ShardingOption& o) const {
    return IsOffloaded(o) && Weight(o) * o.cache_load_factor.value_or(0) > 0;
  }

  double HbmAt(const ShardingOption& o, double load_factor) const {
    return static_cast<double>(reprice_(o, o.kernel, load_factor).total_storage().hbm);
  }
  CacheModel Model(const ShardingOption& o) const {
    const double low = HbmAt(o, 0.1), high = HbmAt(o, 0.9), slope = (high - low) / 0.8;
    return {slope, low - slope * 0.1, static_cast<double>(Fused(o).total_storage().hbm),
            slope * *o.cache_load_factor, Weight(o)};
  }

  double MostBudget() const {
    Storage capacity, fused;
    for (const Storage& rank : capacity_) capacity += rank;
    for (const ShardingOption* o : start_)
      fused += Scalable(*o) ? Fused(*o).total_storage() : o->total_storage();
    return static_cast<double>(std::min(capacity.hbm, fused.hbm) - SumHbm(start_));
  }

  // Bytes of each scalable table's cache.
  std::vector<double> Share(double budget) const {
    std::vector<double> size;
    for (const CacheModel& m : scalable_) size.push_back(m.start);
    for (int i = 0; i < kMaxShares && budget > 1; ++i) {
      double weights = 0, used = 0;
      std::vector<bool> open;
      for (size_t t = 0; t < size.size(); ++t) {
        open.push_back(size[t] < scalable_[t].slope);
        if (open[t]) weights += scalable_[t].weight;
      }
      if (weights == 0) break;
      for (size_t t = 0; t < size.size(); ++t) {
        if (!open[t]) continue;
        const double grown =
            std::min(size[t] + budget * scalable_[t].weight / weights, scalable_[t].slope);
        used += grown - size[t];
        size[t] = grown;
      }
      budget -= used;
      for (size_t t = 0; t < size.size(); ++t) {
        const double excess = scalable_[t].base + size[t] - scalable_[t].fused;
        if (!open[t] || excess <= 0) continue;
        budget += excess;
        size[t] = scalable_[t].slope;
      }
    }
    return size;
  }

  Proposal Grown(double budget) {
    const std::vector<double> size = Share(std::trunc(budget));
    Proposal proposal;
    size_t at = 0;
    for (const ShardingOption* o : start_) {
      if (!Scalable(*o)) {
        proposal.push_back(o);
        continue;
      }
      const double load_factor = size[at] / scalable_[at].slope;
      ++at;
      proposal.push_back(
          Keep(load_factor > kWhole ? Fused(*o) : reprice_(*o, o->kernel, load_factor)));
    }
    return proposal;
  }

  const PlannerModel& model_;
  Repricer reprice_;
  std::vector<Storage> capacity_;
  std::deque<ShardingOption> made_;
  Proposal start_, last_;
  std::vector<CacheModel> scalable_;
  std::optional<BudgetSearch> search_;
  bool started_ = false, done_ = false;
};

}  // namespace

std::unique_ptr<Proposer> MakeOffloadScaleup(const ProposerSettings& settings,
                                             const SearchSpace& space) {
  TESSERA_CHECK(space.model != nullptr && space.reprice,
                "embedding_offload_scaleup: expected a model and a way to price its options");
  return std::make_unique<OffloadScaleup>(settings, space);
}

}  // namespace tessera::internal
