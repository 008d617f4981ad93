#include "train/trainer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "comm/leader.h"
#include "embedding/fused_optimizer.h"
#include "optim/combined_optimizer.h"
#include "optim/gradient_clipping_optimizer.h"
#include "optim/optimizer_wrapper.h"
#include "runtime/staging.h"
#include "runtime/trace.h"
#include "sharding/table_checkpoint.h"
#include "train/metrics/metric_state.h"
#include "train/model_config.h"

namespace tessera {
namespace {

std::optional<ModelSharding> ShardingOf(const std::optional<TrainingRanks>& ranks) {
  if (!ranks) return {};
  return ModelSharding{
      .comm = ranks->comm, .plan = ranks->plan, .options = {.codecs = ranks->codecs}};
}

constexpr char kWarmupState[] = "warmup";
// The consumer of changed rows.
constexpr char kSaved[] = "default";

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

// Of parts of tables, two of which may have one name: their learning rates. What is remembered of
// them is saved with them.
class RatesOfParts final : public OptimizerWrapper {
 public:
  using OptimizerWrapper::OptimizerWrapper;
  std::vector<std::string> Keys() const override { return {}; }
  OptimizerStateDict StateDict() const override { return {}; }
};

bool RemembersAnything(const DenseOptimizerConfig& config) {
  return config.name != "sgd" || config.momentum != 0;
}

}  // namespace

Trainer::Trainer(Context& ctx, const TrainConfig& config, std::optional<TrainingRanks> ranks)
    : ctx_(ctx),
      config_(config),
      ranks_(std::move(ranks)),
      host_(ranks_ ? std::make_unique<Context>(ContextOptions{.threads = 1}) : nullptr),
      model_(ctx, RankingModelConfigOf(config), ShardingOf(ranks_)),
      dense_(std::make_shared<DenseOptimizer>(ctx, model_.Parameters(), config.dense_optimizer)) {
  if (ranks_) parallel_.emplace(ctx, *comm(), model_.Parameters());
  MakeOptimizer();
  progress_.seed = config.seed;
}

std::vector<std::shared_ptr<Optimizer>> Trainer::TableOptimizers() const {
  if (model_.sharded() == nullptr)
    return {std::make_shared<FusedOptimizer>(model_.embedding_bag_collection().tables())};
  std::vector<std::shared_ptr<Optimizer>> optimizers;
  for (TableBatchedEmbedding* part : model_.sharded()->tables().parts())
    optimizers.push_back(std::make_shared<RatesOfParts>(std::make_shared<FusedOptimizer>(*part)));
  return optimizers;
}

void Trainer::MakeOptimizer() {
  optimizer_ = dense_;
  if (config_.gradient_clipping.mode != GradientClipping::kNone)
    optimizer_ = std::make_shared<GradientClippingOptimizer>(dense_, config_.gradient_clipping);
  if (config_.warmup.empty()) return;
  std::vector<CombinedOptimizer::Part> parts;
  for (const auto& tables : TableOptimizers())
    parts.push_back({"tables" + std::to_string(parts.size()), tables});
  parts.push_back({"dense", optimizer_});
  warmup_ = std::make_shared<WarmupOptimizer>(std::make_shared<CombinedOptimizer>(std::move(parts)),
                                              config_.warmup);
  optimizer_ = warmup_;
}

Batch Trainer::PartOf(Context& host, Context& on, const Batch& batch) const {
  if (!ranks_ || batch.rows_of_all > 0) return batch.To(on);
  return PartOfBatch(host, *comm(), batch).To(on);
}

Batch Trainer::MyPart(const Batch& batch) { return PartOf(host_ ? *host_ : ctx_, ctx_, batch); }

Variable Trainer::Loss(const Batch& batch, int64_t rows, Variable& outputs) {
  const TraceSpan span("forward");
  outputs = model_.Forward(ctx_, batch.dense, batch.features);
  return ranks_ ? LossOfPart(ctx_, *comm(), model_, outputs, batch.labels, rows)
                : model_.Loss(ctx_, outputs, batch.labels);
}

// Of all ranks.
double Trainer::ReadLossSync(const Tensor& mean) {
  const TraceSpan span("loss");
  const double loss = ranks_ ? MeanOverRanksSync(ctx_, *comm(), mean)
                             : static_cast<double>(ReadScalarSync(ctx_, mean.data<float>()));
  if (!std::isfinite(loss))
    throw Error(
        Format("the loss of step {} is {}: the training diverged; try smaller learning rates",
               progress_.step + 1, loss));
  return loss;
}

double Trainer::StepBackward(const Batch& batch, int64_t rows, ScoredBatch* scored) {
  Tape tape(ctx_);
  Variable outputs;
  const Variable mean = Loss(batch, rows, outputs);
  const double loss = ReadLossSync(mean.value());
  if (scored != nullptr) *scored = {model_.Probabilities(ctx_, outputs), batch.labels};
  const TraceSpan span("backward");
  if (parallel_) parallel_->Overlap(ctx_, tape);
  tape.Backward(mean);
  return loss;
}

double Trainer::Step(const Batch& batch, ScoredBatch* scored) {
  const double loss = StepBackward(MyPart(batch), batch.whole_size(), scored);
  const TraceSpan span("optimizer");
  if (parallel_) parallel_->AverageGradients(ctx_);
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
  const Batch batch = MyPart(given);
  const Tensor clicks =
      model_.Probabilities(ctx_, model_.Forward(ctx_, batch.dense, batch.features));
  return ranks_ ? GatherParts(ctx_, *comm(), clicks, given.size()) : clicks;
}

// While a batch's predictions come to the host, the next batch is on its way already. Rank 0
// counts for all.
MetricValues Trainer::Evaluate(DataSource& source, const std::function<bool()>& stop,
                               const std::function<void(const ScoredExamples&)>& on_scored) {
  struct Scored {
    HostCopy predictions;
    Tensor labels;
  };
  ClickMetrics metrics;
  std::optional<Scored> last;
  const bool counts = !ranks_ || IsLeader(*comm());
  const auto add_last = [&] {
    if (!last || !counts) return;
    const ScoredExamples examples = {
        last->predictions.Wait().span<float>(), last->labels.span<float>(), {}};
    metrics.Update(examples);
    if (on_scored) on_scored(examples);
  };
  while (!(stop && stop())) {
    const std::optional<Batch> batch = source.Next();
    if (!batch) break;
    Scored scored{HostCopy(ctx_, Predict(*batch)), batch->labels};
    add_last();
    last = std::move(scored);
  }
  add_last();
  const auto values = [&] { return metrics.Lifetime(); };
  return ranks_ ? InvokeOnRankAndBroadcastResult(*comm(), 0, "metrics", values) : values();
}

TrainingProgress Trainer::progress() const {
  TrainingProgress progress = progress_;
  const auto ask = [&](const auto& tables) {
    progress.iter = tables.iter();
    progress.max_counter = tables.max_counter();
  };
  if (model_.sharded() != nullptr)
    ask(model_.sharded()->tables());
  else
    ask(model_.embedding_bag_collection().tables());
  progress.random_next_sequence = ctx_.random().next_sequence();
  return progress;
}

std::vector<NamedTensor> Trainer::State() const {
  std::vector<NamedTensor> state = model_.StateDict();
  if (model_.sharded() != nullptr) return state;
  const TableBatchedEmbedding& tables = model_.embedding_bag_collection().tables();
  for (int t = 0; t < tables.num_tables(); ++t) {
    const std::string parameter = RankingModel::TableParameterName(tables.table_name(t));
    for (int p = 1; p < tables.num_parts(t); ++p) {
      NamedTensor part = tables.part(t, p);
      part.name = OptimizerStateName(parameter, part.name);
      state.push_back(std::move(part));
    }
  }
  return state;
}

std::vector<NamedTensor> Trainer::RestOfState() const {
  std::vector<NamedTensor> rest;
  for (const auto& [parameter, states] : dense_->StateDict())
    for (const auto& [name, tensor] : states)
      rest.push_back({OptimizerStateName(parameter, name), tensor});
  if (warmup_) rest.push_back({OptimizerStateName(kWarmupKey, kWarmupState), warmup_->Position()});
  return rest;
}

std::vector<NamedTensor> Trainer::SavedState(const std::vector<NamedTensor>& metrics) {
  if (!ranks_) model_.embedding_bag_collection().tables().Flush(ctx_);
  std::vector<NamedTensor> state = State();
  for (NamedTensor& named : RestOfState()) state.push_back(std::move(named));
  for (NamedTensor& named : model_.IdStateDict(ctx_)) state.push_back(std::move(named));
  state.insert(state.end(), metrics.begin(), metrics.end());
  return state;
}

void Trainer::Save(const std::string& path, const std::vector<NamedTensor>& metrics) {
  const std::vector<NamedTensor> state = SavedState(metrics);
  TrainingProgress saved = progress();
  if (!ranks_) return WriteCheckpoint(ctx_, path, state, saved, ToJson(config_));
  saved.max_counter = model_.sharded()->tables().LargestCounterSync(ctx_);
  SaveTables(ctx_, path, model_.sharded()->tables(), RankingModel::kTablePrefix, state,
             CheckpointMetadata(saved, ToJson(config_)));
}

void Trainer::TrackChanges() {
  TESSERA_CHECK(!ranks_, "incremental checkpoints are of one rank: ranks save whole checkpoints");
  changes_.emplace(ctx_, model_.embedding_bag_collection().tables());
}

std::vector<ChangedRows> Trainer::ChangesSync() const {
  const TableBatchedEmbedding& tables = model_.embedding_bag_collection().tables();
  const std::vector<UniqueRows> unique = changes_->GetUniqueIds(ctx_, kSaved);
  std::vector<ChangedRows> changed;
  for (int t = 0; t < tables.num_tables(); ++t)
    if (!std::holds_alternative<Dense>(tables.rule(t)))  // the dense optimizer's state has no rows
      changed.push_back({RankingModel::TableParameterName(tables.table_name(t)),
                         unique[static_cast<size_t>(t)].ids});
  return changed;
}

void Trainer::Save(IncrementalCheckpoints& to, const std::vector<NamedTensor>& metrics) {
  const std::vector<NamedTensor> state = SavedState(metrics);
  if (!changes_) {
    TrackChanges();
    for (size_t t = 0; t < config_.tables.size(); ++t) changes_->TouchAll(static_cast<int>(t));
  }
  to.Write(ctx_, state, ChangesSync(), progress(), ToJson(config_));
  changes_->Clear(kSaved);
}

// Where something was trained, every dense parameter has state, and a schedule its place.
void Trainer::CheckStateIsThere(const std::string& path,
                                const std::vector<std::string>& names) const {
  const auto check = [&](const std::string& parameter) {
    const std::string prefix = OptimizerStateName(parameter, "");
    if (std::none_of(names.begin(), names.end(),
                     [&](const std::string& name) { return name.starts_with(prefix); }))
      throw Error(Format("{}: it lacks '{}*', which this model has", path, prefix));
  };
  if (warmup_) check(kWarmupKey);
  if (!RemembersAnything(config_.dense_optimizer)) return;
  for (const std::string& parameter : dense_->Keys()) check(parameter);
}

void Trainer::LoadRest(const std::vector<NamedTensor>& rest, bool with_optimizer) {
  std::vector<NamedTensor> optimizer, metrics, ids;
  for (const NamedTensor& named : rest) {
    if (IsIdState(named.name))
      ids.push_back(named);
    else
      (named.name.starts_with(kMetricsPrefix) ? metrics : optimizer).push_back(named);
  }
  OptimizerStateDict states = StatesOf(optimizer);
  const auto schedule = warmup_ ? states.extract(kWarmupKey) : OptimizerStateDict::node_type();
  if (with_optimizer) dense_->CheckStateDict(states);
  model_.LoadIdStateDict(ctx_, ids);
  if (with_optimizer && warmup_) {
    const bool known = schedule && schedule.mapped().contains(kWarmupState);
    warmup_->SetPosition(known ? schedule.mapped().at(kWarmupState) : Tensor());
  }
  if (with_optimizer) dense_->LoadStateDict(ctx_, states);
  for (NamedTensor& named : metrics) named.tensor = named.tensor.ToHost();
  loaded_metrics_ = std::move(metrics);
}

void Trainer::GoOnFrom(const TrainingProgress& progress) {
  progress_ = progress;
  const auto tell = [&](auto& tables) {
    tables.set_iter(progress.iter);
    tables.set_max_counter(progress.max_counter);
  };
  if (model_.sharded() != nullptr)
    tell(model_.sharded()->tables());
  else
    tell(model_.embedding_bag_collection().tables());
  ctx_.random() = Random(progress.seed, progress.random_next_sequence);
}

void Trainer::ShowRowsOf(const Checkpoint& checkpoint) {
  TableBatchedEmbedding& tables = model_.embedding_bag_collection().tables();
  for (int t = 0; t < tables.num_tables(); ++t) {
    if (!tables.table(t).growing) continue;
    const std::string name = RankingModel::TableParameterName(tables.table_name(t));
    for (const CheckpointEntry& entry : checkpoint.tensors)
      if (entry.name == name && entry.tensor.shape.rank() == 2)
        tables.SetRowsInUse(ctx_, t, entry.tensor.shape[0]);
  }
}

bool Trainer::Load(const Checkpoint& checkpoint) {
  TableBatchedEmbedding& tables = model_.embedding_bag_collection().tables();
  if (checkpoint.progress && checkpoint.progress->step > 0) {
    std::vector<std::string> names;
    for (const CheckpointEntry& entry : checkpoint.tensors) names.push_back(entry.name);
    CheckStateIsThere(checkpoint.path, names);
  }
  changes_.reset();
  tables.Flush(ctx_);
  tables.ResetCaches(ctx_);
  ShowRowsOf(checkpoint);
  Restore(ctx_, checkpoint, State(), [&](const std::vector<NamedTensor>& rest) {
    LoadRest(rest, checkpoint.has_optimizer_state());
  });
  if (!checkpoint.progress) return false;
  GoOnFrom(*checkpoint.progress);
  return true;
}

void Trainer::Load(ShardedCheckpoint& checkpoint) {
  TESSERA_CHECK(ranks_.has_value(), "{}: it is of ranks, of which this training has none",
                checkpoint.folder());
  const std::optional<TrainingProgress> progress = ProgressOf(checkpoint.info().metadata);
  if (!progress) throw Error(Format("{}: it does not say where a run stands", checkpoint.folder()));
  std::vector<NamedTensor> weights, rest;
  std::vector<std::string> names;
  for (const auto& [name, stored] : checkpoint.index().whole) {
    names.push_back(name);
    (IsRunState(name) ? rest : weights).push_back({name, checkpoint.ReadWhole(ctx_, name)});
  }
  if (progress->step > 0) CheckStateIsThere(checkpoint.folder(), names);
  model_.LoadStateDict(ctx_, weights);
  LoadRest(rest, true);
  LoadTables(ctx_, checkpoint, model_.sharded()->tables());
  GoOnFrom(*progress);
}

}  // namespace tessera
