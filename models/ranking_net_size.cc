#include "models/ranking_net_size.h"

#include <algorithm>

namespace tessera {
namespace {

// Adds layers one after another; `width` is what the last one gives.
class Sizer {
 public:
  explicit Sizer(double width) : width_(width) {}
  void Linear(double out) {
    size_.parameters += width_ * out + out;
    Output(out);
  }
  void Mlp(const std::vector<int64_t>& sizes) {
    for (const int64_t out : sizes) Linear(static_cast<double>(out));
  }
  void Output(double out) {
    size_.activations += out;
    width_ = out;
  }
  void Add(const RankingNetSize& other) {
    size_.parameters += other.parameters;
    size_.activations += other.activations;
  }
  const RankingNetSize& size() const { return size_; }

 private:
  double width_;
  RankingNetSize size_;
};

double Last(const std::vector<int64_t>& sizes) { return static_cast<double>(sizes.back()); }

// Adds the layers between the lower and the upper MLP of a DLRM; z has `blocks` blocks of `dim`.
void AddInteraction(const RankingNetConfig& config, double blocks, double dim, Sizer& sizer) {
  const double z = blocks * dim, own = config.dense_in > 0 ? dim : 0;  // columns of the dense part
  if (config.type == RankingModelType::kDlrmDcn) {
    const auto layers = static_cast<double>(config.dcn_layers),
               rank = static_cast<double>(config.dcn_low_rank);
    sizer.Add({layers * (2 * z * rank + z), layers * (2 * z + rank)});
    return sizer.Output(z);
  }
  if (config.type == RankingModelType::kDlrm) return sizer.Output(own + (blocks - 1) * blocks / 2);
  for (const auto* branch : {&config.branch1, &config.branch2}) {
    Sizer of_branch(z);
    of_branch.Mlp(*branch);
    sizer.Add(of_branch.size());
  }
  sizer.Output(own + Last(config.branch1) / dim * (Last(config.branch2) / dim));
}

RankingNetSize SizeOfDeepFm(const RankingNetConfig& config, double pooled, double dim) {
  const auto hidden = static_cast<double>(config.hidden),
             deep = static_cast<double>(config.deep_fm_dim);
  const double own = config.dense_in > 0 ? dim : 0;
  Sizer lower(static_cast<double>(config.dense_in)), inner(own + pooled), over(own + deep + 1);
  if (own > 0) {
    lower.Linear(hidden);
    lower.Linear(dim);
  }
  inner.Linear(deep);
  over.Linear(static_cast<double>(config.num_tasks()));
  lower.Add(inner.size());
  lower.Add(over.size());
  return lower.size();
}

// `count` MLPs beside each other.
void AddMlps(double count, double in, const std::vector<int64_t>& sizes, Sizer& sizer) {
  Sizer one(in);
  one.Mlp(sizes);
  sizer.Add({count * one.size().parameters, count * one.size().activations});
}

// A gate over so many experts of `size` outputs.
void AddGate(double in, double experts, double size, Sizer& sizer) {
  Sizer gate(in);
  gate.Linear(experts);
  gate.Output((experts + 1) * size);
  sizer.Add(gate.size());
}

RankingNetSize SizeOfMixture(const RankingNetConfig& config, double pooled) {
  const bool ple = config.type == RankingModelType::kPle;
  const auto tasks = static_cast<double>(config.num_tasks()),
             own = static_cast<double>(config.task_experts),
             shared = static_cast<double>(config.experts);
  const double size = Last(config.expert_arch);
  Sizer sizer(static_cast<double>(config.dense_in));
  sizer.Mlp(config.dense_arch);
  double in = pooled + (config.dense_arch.empty() ? 0 : Last(config.dense_arch));
  const int64_t layers = ple ? config.extraction_layers : 1;
  for (int64_t l = 0; l < layers; ++l, in = size) {
    AddMlps(tasks * own + shared, in, config.expert_arch, sizer);
    for (double t = 0; t < tasks; ++t) AddGate(in, own + shared, size, sizer);
    if (l + 1 < layers) AddGate(in, tasks * own + shared, size, sizer);
  }
  AddMlps(tasks, size, config.tower_arch, sizer);
  return sizer.size();
}

RankingNetSize SizeOfTowers(const RankingNetConfig& config,
                            const std::vector<PooledFeature>& features) {
  Sizer sizer(0);
  for (const auto* own : {&config.query, &config.candidate}) {
    double width = 0;
    for (const PooledFeature& feature : features)
      if (std::ranges::count(*own, feature.feature) > 0) width += static_cast<double>(feature.dim);
    AddMlps(1, width, config.tower_layers, sizer);
  }
  return sizer.size();
}

// Sequences in front of the net: the rows compared, and their scores.
RankingNetSize SizeOfAttention(const RankingNetConfig& config,
                               const std::vector<PooledFeature>& features) {
  Sizer sizer(0);
  for (const PooledFeature& feature : features)
    for (const SequenceAttention& one : config.attention) {
      if (one.sequence != feature.feature) continue;
      const auto dim = static_cast<double>(feature.dim);
      Sizer score(4 * dim);
      score.Mlp(one.layers);
      score.Linear(1);
      const double activations = score.size().activations + 7 * dim;
      sizer.Add({score.size().parameters, static_cast<double>(one.max_length) * activations});
    }
  return sizer.size();
}

}  // namespace

RankingNetSize SizeOfRankingNet(const RankingNetConfig& config,
                                const std::vector<PooledFeature>& features) {
  if (!config.attention.empty()) {
    RankingNetConfig behind = config;
    behind.attention.clear();
    const RankingNetSize own = SizeOfAttention(config, features),
                         rest = SizeOfRankingNet(behind, features);
    return {own.parameters + rest.parameters, own.activations + rest.activations};
  }
  double pooled = 0;
  for (const PooledFeature& feature : features) pooled += static_cast<double>(feature.dim);
  if (config.type == RankingModelType::kTwoTower) return SizeOfTowers(config, features);
  if (TakesAnyDims(config.type)) return SizeOfMixture(config, pooled);
  const double dim = !config.dense_arch.empty() ? Last(config.dense_arch)
                     : features.empty()         ? 1
                                                : static_cast<double>(features.front().dim);
  if (config.type == RankingModelType::kDeepFm) return SizeOfDeepFm(config, pooled, dim);
  const double blocks = static_cast<double>(features.size()) + (config.dense_in > 0 ? 1 : 0);
  Sizer sizer(static_cast<double>(config.dense_in));
  sizer.Mlp(config.dense_arch);
  AddInteraction(config, blocks, dim, sizer);
  sizer.Mlp(config.over_arch);
  return sizer.size();
}

}  // namespace tessera
