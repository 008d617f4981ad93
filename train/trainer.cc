#include "train/trainer.h"

#include <algorithm>
#include <cmath>

#include "embedding/fused_optimizer.h"
#include "optim/combined_optimizer.h"
#include "optim/gradient_clipping_optimizer.h"
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
          // Ids were made to fit the tables. A run that goes on rounds as it began.
          .embeddings = {.bounds_check = BoundsCheckMode::kFatal, .rounding_seed = config.seed}};
}

constexpr char kWarmupState[] = "warmup";

// "optimizer.<parameter>.<state>" taken apart; no state's name has a dot.
OptimizerStateDict StatesOf(const std::vector<NamedTensor>& tensors) {
  OptimizerStateDict states;
  for (const NamedTensor& named : tensors) {
    const std::string name = named.name.substr(std::string(kOptimizerPrefix).size());
    const size_t dot = name.rfind('.');
    if (dot == std::string::npos)
      throw Error(Format("it has '{}', which this model does not have", named.name));
    states[name.substr(0, dot)][name.substr(dot + 1)] = named.tensor;
  }
  return states;
}

bool RemembersAnything(const DenseOptimizerConfig& config) {
  return config.name != "sgd" || config.momentum != 0;
}

}  // namespace

Trainer::Trainer(Context& ctx, const TrainConfig& config)
    : ctx_(ctx),
      config_(config),
      model_(ctx, ModelOf(config)),
      dense_(std::make_shared<DenseOptimizer>(ctx, model_.Parameters(), config.dense_optimizer)) {
  MakeOptimizer();
  progress_.seed = config.seed;
}

void Trainer::MakeOptimizer() {
  optimizer_ = dense_;
  if (config_.gradient_clipping.mode != GradientClipping::kNone)
    optimizer_ = std::make_shared<GradientClippingOptimizer>(dense_, config_.gradient_clipping);
  if (config_.warmup.empty()) return;
  auto fused = std::make_shared<FusedOptimizer>(model_.embedding_bag_collection().tables());
  warmup_ = std::make_shared<WarmupOptimizer>(
      std::make_shared<CombinedOptimizer>(
          std::vector<CombinedOptimizer::Part>{{"tables", fused}, {"dense", optimizer_}}),
      config_.warmup);
  optimizer_ = warmup_;
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
  optimizer_->Step(ctx_);
  optimizer_->ZeroGrad();
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
  const TableBatchedEmbedding& tables = model_.embedding_bag_collection().tables();
  progress.iter = tables.iter();
  progress.max_counter = tables.max_counter();
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

void Trainer::Save(const std::string& path) {
  model_.embedding_bag_collection().tables().Flush(ctx_);
  std::vector<NamedTensor> state = State();
  for (const auto& [parameter, states] : dense_->StateDict())
    for (const auto& [name, tensor] : states)
      state.push_back({OptimizerStateName(parameter, name), tensor});
  if (warmup_) state.push_back({OptimizerStateName(kWarmupKey, kWarmupState), warmup_->Position()});
  WriteCheckpoint(ctx_, path, state, progress(), ToJson(config_));
}

// Where something was trained, every dense parameter has state, and a schedule its place.
void Trainer::CheckStateIsThere(const Checkpoint& checkpoint) const {
  const auto check = [&](const std::string& parameter) {
    const std::string prefix = OptimizerStateName(parameter, "");
    if (std::none_of(checkpoint.tensors.begin(), checkpoint.tensors.end(),
                     [&](const CheckpointEntry& t) { return t.name.starts_with(prefix); }))
      throw Error(Format("{}: it lacks '{}*', which this model has", checkpoint.path, prefix));
  };
  if (warmup_) check(kWarmupKey);
  if (!RemembersAnything(config_.dense_optimizer)) return;
  for (const std::string& parameter : dense_->Keys()) check(parameter);
}

void Trainer::LoadRest(const std::vector<NamedTensor>& rest) {
  OptimizerStateDict states = StatesOf(rest);
  const auto schedule = warmup_ ? states.extract(kWarmupKey) : OptimizerStateDict::node_type();
  dense_->CheckStateDict(states);
  if (warmup_) {
    const bool known = schedule && schedule.mapped().contains(kWarmupState);
    warmup_->SetPosition(known ? schedule.mapped().at(kWarmupState) : Tensor());
  }
  dense_->LoadStateDict(ctx_, states);
}

bool Trainer::Load(const Checkpoint& checkpoint) {
  if (checkpoint.progress && checkpoint.progress->step > 0) CheckStateIsThere(checkpoint);
  TableBatchedEmbedding& tables = model_.embedding_bag_collection().tables();
  tables.Flush(ctx_);
  tables.ResetCaches(ctx_);
  Restore(ctx_, checkpoint, State(), [&](const std::vector<NamedTensor>& rest) { LoadRest(rest); });
  if (!checkpoint.progress) return false;
  progress_ = *checkpoint.progress;
  tables.set_iter(progress_.iter);
  tables.set_max_counter(progress_.max_counter);
  ctx_.random() = Random(progress_.seed, progress_.random_next_sequence);
  return true;
}

}  // namespace tessera
