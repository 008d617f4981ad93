#include "train/trainer.h"

#include <algorithm>
#include <cmath>

#include "runtime/ops/activation.h"
#include "runtime/ops/loss.h"
#include "runtime/staging.h"

namespace tessera {
namespace {

DlrmConfig ModelOf(const TrainConfig& config) {
  return {.tables = config.tables,
          .dense_in = config.model.dense_in,
          .dense_arch = config.model.dense_arch,
          .over_arch = config.model.over_arch,
          // Ids were made to fit the tables.
          .embeddings = {.bounds_check = BoundsCheckMode::kFatal}};
}

// "optimizer.<parameter>.<state>" taken apart; no parameter has a state whose name has a dot.
DenseOptimizerState DenseStateOf(const NamedTensor& named) {
  const std::string name = named.name.substr(std::string(kOptimizerPrefix).size());
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos)
    throw Error(Format("it has '{}', which this model does not have", named.name));
  return {name.substr(0, dot), name.substr(dot + 1), named.tensor};
}

bool RemembersAnything(const DenseOptimizerConfig& config) {
  return config.name != "sgd" || config.momentum != 0;
}

}  // namespace

Trainer::Trainer(Context& ctx, const TrainConfig& config)
    : ctx_(ctx),
      config_(config),
      model_(ctx, ModelOf(config)),
      optimizer_(ctx, model_.Parameters(), config.dense_optimizer) {
  progress_.seed = config.seed;
}

double Trainer::Step(const Batch& given) {
  const Batch batch = given.To(ctx_);
  double loss = 0;
  {
    Tape tape(ctx_);
    const Variable mean =
        BceWithLogits(ctx_, model_.Forward(ctx_, batch.dense, batch.features), batch.labels);
    loss = static_cast<double>(ReadScalarSync(ctx_, mean.value().data<float>()));
    if (!std::isfinite(loss))
      throw Error(
          Format("the loss of step {} is {}: the training diverged; try smaller learning rates",
                 progress_.step + 1, loss));
    tape.Backward(mean);
  }
  optimizer_.Step(ctx_);
  optimizer_.ZeroGrad();
  ++progress_.step;
  progress_.row = batch.end_row;
  return loss;
}

void Trainer::EndEpoch() {
  ++progress_.epoch;
  progress_.row = 0;
}

Tensor Trainer::Predict(const Batch& given) {
  const NoGrad no_grad(ctx_);
  const Batch batch = given.To(ctx_);
  return Sigmoid(ctx_, model_.Forward(ctx_, batch.dense, batch.features)).value();
}

// While a batch's predictions come to the host, the next batch is on its way already.
MetricValues Trainer::Evaluate(DataSource& source, const std::function<bool()>& stop) {
  struct Scored {
    HostCopy predictions;
    Tensor labels;
  };
  ClickMetrics metrics;
  std::optional<Scored> last;
  const auto add_last = [&] {
    if (last)
      metrics.Update({last->predictions.Wait().span<float>(), last->labels.span<float>(), {}});
  };
  while (!(stop && stop())) {
    const std::optional<Batch> batch = source.Next();
    if (!batch) break;
    Scored scored{HostCopy(ctx_, Predict(*batch)), batch->labels};
    add_last();
    last = std::move(scored);
  }
  add_last();
  return metrics.Lifetime();
}

TrainingProgress Trainer::progress() const {
  TrainingProgress progress = progress_;
  progress.iter = model_.embedding_bag_collection().tables().iter();
  progress.random_next_sequence = ctx_.random().next_sequence();
  return progress;
}

std::vector<NamedTensor> Trainer::State() const {
  std::vector<NamedTensor> state = model_.StateDict();
  const TableBatchedEmbedding& tables = model_.embedding_bag_collection().tables();
  for (int t = 0; t < tables.num_tables(); ++t) {
    const std::string parameter = Dlrm::TableParameterName(tables.table_name(t));
    for (const OptimizerState& s : tables.optimizer_states(t))
      state.push_back({OptimizerStateName(parameter, s.name), s.tensor});
  }
  return state;
}

void Trainer::Save(const std::string& path) const {
  std::vector<NamedTensor> state = State();
  for (const DenseOptimizerState& s : optimizer_.States())
    state.push_back({OptimizerStateName(s.parameter, s.state), s.tensor});
  WriteCheckpoint(ctx_, path, state, progress(), ToJson(config_));
}

void Trainer::LoadDenseStates(const std::vector<NamedTensor>& states) {
  std::vector<DenseOptimizerState> dense;
  for (const NamedTensor& named : states) dense.push_back(DenseStateOf(named));
  optimizer_.LoadStates(ctx_, dense);
}

bool Trainer::Load(const Checkpoint& checkpoint) {
  // Where something was trained, every dense parameter has state.
  const bool needs_state = RemembersAnything(config_.dense_optimizer) && checkpoint.progress &&
                           checkpoint.progress->step > 0;
  Restore(ctx_, checkpoint, State(), [&](const std::vector<NamedTensor>& rest) {
    for (const NamedParameter& p : optimizer_.parameters()) {
      const bool found = std::any_of(rest.begin(), rest.end(), [&](const NamedTensor& named) {
        return named.name.starts_with(OptimizerStateName(p.name, ""));
      });
      if (needs_state && !found)
        throw Error(Format("it lacks '{}', which this model has", OptimizerStateName(p.name, "*")));
    }
    LoadDenseStates(rest);
  });
  if (!checkpoint.progress) return false;
  progress_ = *checkpoint.progress;
  model_.embedding_bag_collection().tables().set_iter(progress_.iter);
  ctx_.random() = Random(progress_.seed, progress_.random_next_sequence);
  return true;
}

}  // namespace tessera
