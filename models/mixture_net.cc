#include "models/mixture_net.h"

#include <algorithm>

#include "runtime/base/check.h"
#include "runtime/ops/shaping.h"

namespace tessera {
namespace {

int64_t WidthOf(const RankingNetConfig& config, const std::vector<PooledFeature>& features) {
  int64_t width = config.dense_arch.empty() ? 0 : config.dense_arch.back();
  for (const PooledFeature& feature : features) width += feature.dim;
  TESSERA_CHECK(width > 0, "{}: expected dense features or a table", ToString(config.type));
  return width;
}

// The parts that both types have: the dense features' MLP below, the towers above.
class MixtureNet : public RankingNet {
 public:
  Variable Forward(Context& ctx, const Variable& dense, const Variable& pooled) const final {
    const Variable x =
        dense_arch_ ? Concat(ctx, {dense_arch_->Forward(ctx, dense), pooled}, 1) : pooled;
    const std::vector<Variable> mixtures = Mix(ctx, x);
    std::vector<Variable> outputs;
    for (size_t t = 0; t < towers_.size(); ++t)
      outputs.push_back(towers_[t].Forward(ctx, mixtures[t]));
    return AsOutputs(ctx, outputs.size() == 1 ? outputs[0] : Concat(ctx, outputs, 1));
  }

  void AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const final {
    if (dense_arch_) dense_arch_->AppendParameters(prefix + "dense_arch.model.", out);
    AppendMixture(prefix, out);
    for (size_t t = 0; t < towers_.size(); ++t)
      towers_[t].AppendParameters(Format("{}towers.{}.", prefix, t), out);
  }

 protected:
  MixtureNet(Context& ctx, const RankingNetConfig& config) {
    if (config.dense_in > 0) dense_arch_.emplace(ctx, config.dense_in, config.dense_arch);
  }
  void MakeTowers(Context& ctx, const RankingNetConfig& config) {
    for (int64_t t = 0; t < config.num_tasks(); ++t)
      towers_.emplace_back(ctx, config.expert_arch.back(), config.tower_arch);
  }

 private:
  // x [B, width] -> [B, last size of expert_arch] for each task.
  virtual std::vector<Variable> Mix(Context& ctx, const Variable& x) const = 0;
  virtual void AppendMixture(const std::string& prefix, std::vector<NamedParameter>& out) const = 0;

  std::optional<Mlp> dense_arch_;
  std::vector<OverArch> towers_;
};

class MmoeNet final : public MixtureNet {
 public:
  MmoeNet(Context& ctx, const RankingNetConfig& config, int64_t width)
      : MixtureNet(ctx, config), experts_(ctx, config.experts, width, config.expert_arch) {
    for (int64_t t = 0; t < config.num_tasks(); ++t)
      gates_.emplace_back(ctx, width, config.experts);
    MakeTowers(ctx, config);
  }

 private:
  std::vector<Variable> Mix(Context& ctx, const Variable& x) const override {
    std::vector<Variable> experts, mixtures;
    experts_.Forward(ctx, x, experts);
    for (const Gate& gate : gates_) mixtures.push_back(gate.Forward(ctx, x, experts));
    return mixtures;
  }
  void AppendMixture(const std::string& prefix, std::vector<NamedParameter>& out) const override {
    experts_.AppendParameters(prefix + "experts.", out);
    for (size_t t = 0; t < gates_.size(); ++t)
      gates_[t].AppendParameters(Format("{}gates.{}.", prefix, t), out);
  }

  Experts experts_;
  std::vector<Gate> gates_;
};

// A layer of ple: inputs, one a task and then the shared one, become as many; the last layer gives
// none that is shared.
class Extraction final : public Module {
 public:
  Extraction(Context& ctx, const RankingNetConfig& config, int64_t in, bool last)
      : shared_(MakeExperts(ctx, config, in)) {
    const int64_t tasks = config.num_tasks();
    for (int64_t t = 0; t < tasks; ++t)
      task_gates_.emplace_back(ctx, in, config.task_experts + config.experts);
    if (!last) shared_gate_.emplace(ctx, in, tasks * config.task_experts + config.experts);
  }

  std::vector<Variable> Forward(Context& ctx, const std::vector<Variable>& inputs) const {
    std::vector<Variable> shared, all, outputs;
    shared_.Forward(ctx, inputs.back(), shared);
    for (size_t t = 0; t < task_gates_.size(); ++t) {
      std::vector<Variable> experts;
      of_tasks_[t].Forward(ctx, inputs[t], experts);
      all.insert(all.end(), experts.begin(), experts.end());
      experts.insert(experts.end(), shared.begin(), shared.end());
      outputs.push_back(task_gates_[t].Forward(ctx, inputs[t], experts));
    }
    if (!shared_gate_) return outputs;
    all.insert(all.end(), shared.begin(), shared.end());
    outputs.push_back(shared_gate_->Forward(ctx, inputs.back(), all));
    return outputs;
  }

  void AppendParameters(const std::string& prefix,
                        std::vector<NamedParameter>& out) const override {
    for (size_t t = 0; t < of_tasks_.size(); ++t)
      of_tasks_[t].AppendParameters(Format("{}task_experts.{}.", prefix, t), out);
    shared_.AppendParameters(prefix + "shared_experts.", out);
    for (size_t t = 0; t < task_gates_.size(); ++t)
      task_gates_[t].AppendParameters(Format("{}task_gates.{}.", prefix, t), out);
    if (shared_gate_) shared_gate_->AppendParameters(prefix + "shared_gate.", out);
  }

 private:
  // Those of tasks first.
  Experts MakeExperts(Context& ctx, const RankingNetConfig& config, int64_t in) {
    for (int64_t t = 0; t < config.num_tasks(); ++t)
      of_tasks_.emplace_back(ctx, config.task_experts, in, config.expert_arch);
    return Experts(ctx, config.experts, in, config.expert_arch);
  }

  std::vector<Experts> of_tasks_;
  Experts shared_;
  std::vector<Gate> task_gates_;
  std::optional<Gate> shared_gate_;
};

class PleNet final : public MixtureNet {
 public:
  PleNet(Context& ctx, const RankingNetConfig& config, int64_t width) : MixtureNet(ctx, config) {
    for (int64_t l = 0; l < config.extraction_layers; ++l) {
      layers_.emplace_back(ctx, config, width, l + 1 == config.extraction_layers);
      width = config.expert_arch.back();
    }
    tasks_ = static_cast<size_t>(config.num_tasks());
    MakeTowers(ctx, config);
  }

 private:
  std::vector<Variable> Mix(Context& ctx, const Variable& x) const override {
    std::vector<Variable> inputs(tasks_ + 1, x);
    for (const Extraction& layer : layers_) inputs = layer.Forward(ctx, inputs);
    return inputs;
  }
  void AppendMixture(const std::string& prefix, std::vector<NamedParameter>& out) const override {
    for (size_t l = 0; l < layers_.size(); ++l)
      layers_[l].AppendParameters(Format("{}extraction.{}.", prefix, l), out);
  }

  std::vector<Extraction> layers_;
  size_t tasks_ = 0;
};

}  // namespace

std::unique_ptr<RankingNet> MakeMixtureNet(Context& ctx, const RankingNetConfig& config,
                                           const std::vector<PooledFeature>& features) {
  const int64_t width = WidthOf(config, features);
  if (config.type == RankingModelType::kPle) return std::make_unique<PleNet>(ctx, config, width);
  return std::make_unique<MmoeNet>(ctx, config, width);
}

}  // namespace tessera
