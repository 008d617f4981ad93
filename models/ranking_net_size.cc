#include "models/ranking_net_size.h"

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
  const double z = blocks * dim;
  if (config.type == RankingModelType::kDlrmDcn) {
    const auto layers = static_cast<double>(config.dcn_layers),
               rank = static_cast<double>(config.dcn_low_rank);
    sizer.Add({layers * (2 * z * rank + z), layers * (2 * z + rank)});
    return sizer.Output(z);
  }
  if (config.type == RankingModelType::kDlrm) return sizer.Output(dim + (blocks - 1) * blocks / 2);
  for (const auto* branch : {&config.branch1, &config.branch2}) {
    Sizer own(z);
    own.Mlp(*branch);
    sizer.Add(own.size());
  }
  sizer.Output(dim + Last(config.branch1) / dim * (Last(config.branch2) / dim));
}

RankingNetSize SizeOfDeepFm(const RankingNetConfig& config, double blocks, double dim) {
  const auto hidden = static_cast<double>(config.hidden),
             deep = static_cast<double>(config.deep_fm_dim);
  Sizer lower(static_cast<double>(config.dense_in)), inner(blocks * dim), over(dim + deep + 1);
  lower.Linear(hidden);
  lower.Linear(dim);
  inner.Linear(deep);
  over.Linear(1);
  lower.Add(inner.size());
  lower.Add(over.size());
  return lower.size();
}

}  // namespace

RankingNetSize SizeOfRankingNet(const RankingNetConfig& config, int64_t num_features, int64_t dim) {
  const auto blocks = static_cast<double>(num_features) + 1, width = static_cast<double>(dim);
  if (config.type == RankingModelType::kDeepFm) return SizeOfDeepFm(config, blocks, width);
  Sizer sizer(static_cast<double>(config.dense_in));
  sizer.Mlp(config.dense_arch);
  AddInteraction(config, blocks, width, sizer);
  sizer.Mlp(config.over_arch);
  return sizer.size();
}

}  // namespace tessera
