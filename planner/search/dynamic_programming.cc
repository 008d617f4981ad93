#include <limits>

#include "planner/search/proposer_impl.h"

namespace tessera::internal {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int kNobody = -1;

// The least Σ perf that ends in a bin of HBM, and the choice that led there.
struct Cell {
  double perf = kNever, hbm = 0;
  int option = kNobody, from = kNobody;
};
using Layer = std::vector<Cell>;  // a cell a bin

class DynamicProgramming : public Proposer {
 public:
  DynamicProgramming(const ProposerSettings& settings, const SearchSpace& space) {
    const auto hbm = [](const ShardingOption& o) { return o.total_storage().hbm; };
    tables_ = ByTable(SortedBy(AllOf(space.options), hbm));
    double sum = 0;
    for (const Storage& rank : space.capacity) sum += static_cast<double>(rank.hbm);
    const size_t bins =
        static_cast<size_t>(std::max(1, settings.hbm_bins_per_device)) * space.capacity.size();
    width_ = sum / static_cast<double>(bins);
    Layer layer(1);
    layer[0].perf = 0;
    for (const Candidates& options : tables_) {
      layers_.push_back(NextLayer(layer, options, bins));
      layer = layers_.back();
    }
    bin_ = bins;
  }

  Proposal Next() override {
    if (tables_.empty()) return {};
    if (!started_) {
      started_ = true;
      Proposal first;
      for (const Candidates& options : tables_) first.push_back(options[0]);
      return first;
    }
    while (bin_ > 0)
      if (layers_.back()[--bin_].option != kNobody) return BackTrack(bin_);
    return {};
  }
  void Feedback(std::optional<double>) override {}

 private:
  // The option's HBM, in bins.
  double Hbm(const ShardingOption& option) const {
    const auto bytes = static_cast<double>(option.total_storage().hbm);
    return bytes == 0 ? 0 : width_ > 0 ? bytes / width_ : kNever;
  }

  Layer NextLayer(const Layer& previous, const Candidates& options, size_t bins) const {
    Layer next(bins);
    for (size_t o = 0; o < options.size(); ++o) {
      const double option_hbm = Hbm(*options[o]), option_perf = options[o]->total_perf();
      for (size_t b = 0; b < previous.size(); ++b) {
        if (previous[b].perf == kNever) continue;
        const double hbm = previous[b].hbm + option_hbm, perf = previous[b].perf + option_perf;
        if (!(hbm < static_cast<double>(bins))) continue;
        Cell& cell = next[static_cast<size_t>(hbm)];
        if (perf < cell.perf) cell = {perf, hbm, static_cast<int>(o), static_cast<int>(b)};
      }
    }
    return next;
  }

  Proposal BackTrack(size_t bin) const {
    Proposal proposal(tables_.size());
    for (size_t t = tables_.size(); t-- > 0;) {
      const Cell& cell = layers_[t][bin];
      proposal[t] = tables_[t][static_cast<size_t>(cell.option)];
      bin = static_cast<size_t>(cell.from);
    }
    return proposal;
  }

  std::vector<Candidates> tables_;
  std::vector<Layer> layers_;
  double width_ = 0;
  size_t bin_ = 0;
  bool started_ = false;
};

}  // namespace

std::unique_ptr<Proposer> MakeDynamicProgramming(const ProposerSettings& settings,
                                                 const SearchSpace& space) {
  return std::make_unique<DynamicProgramming>(settings, space);
}

}  // namespace tessera::internal
