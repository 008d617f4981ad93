#include "train/trainer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "comm/leader.h"
#include "data/batch_rows.h"
#include "embedding/fused_optimizer.h"
#include "models/item_frequencies.h"
#include "models/tower_net.h"
#include "optim/combined_optimizer.h"
#include "optim/gradient_clipping_optimizer.h"
#include "runtime/accumulation.h"
#include "runtime/files/trace.h"
#include "runtime/ops/matmul.h"
#include "runtime/ops/shaping.h"
#include "runtime/staging.h"
#include "sharding/sharded_fused_optimizer.h"
#include "train/dense_parts.h"
#include "train/groups/rank_groups.h"
#include "train/model_config.h"

namespace tessera {
namespace {

// The number of examples of the rank that has the most.
int64_t LargestPart(int64_t rows, const Communicator* comm) {
  return comm == nullptr ? rows : (rows + comm->size() - 1) / comm->size();
}

// The ends of micro-batches in the `mine` examples of a rank, where none has more than `most`:
// every rank has as many micro-batches, whose numbers of examples are multiples of
// Accumulation::kExamples.
std::vector<int64_t> EndsOfMicroBatches(int64_t mine, int64_t most, int64_t steps) {
  constexpr int64_t kMultiple = Accumulation::kExamples;
  const int64_t size = ((most + steps - 1) / steps + kMultiple - 1) / kMultiple * kMultiple;
  std::vector<int64_t> ends;
  for (int64_t end = size; end < most; end += size) ends.push_back(std::min(end, mine));
  ends.push_back(mine);
  return ends;
}

// Checks the weights of a batch in host memory.
void CheckWeights(const Batch& batch) {
  if (!batch.weights) return;
  TESSERA_CHECK_EQ(batch.weights.dtype(), DType::kF32, "weights of examples");
  TESSERA_CHECK_EQ(batch.weights.shape(), Shape{batch.size()}, "weights of examples");
  if (batch.weights.device() != Device::Cpu()) return;
  for (const float weight : batch.weights.span<float>())
    TESSERA_CHECK(std::isfinite(weight) && weight >= 0,
                  "weights of examples: expected a number "
                  "that is not negative, got {}",
                  weight);
}

std::optional<ModelSharding> ShardingOf(const std::optional<TrainingRanks>& ranks) {
  if (!ranks) return {};
  return ModelSharding{.comm = &ranks->sharding(),
                       .plan = ranks->plan,
                       .options = {.codecs = ranks->codecs, .route = ranks->route}};
}

}  // namespace

Trainer::Trainer(Context& ctx, const TrainConfig& config, std::optional<TrainingRanks> ranks)
    : ctx_(ctx),
      config_(config),
      ranks_(std::move(ranks)),
      host_(ranks_ ? std::make_unique<Context>(ContextOptions{.threads = 1}) : nullptr),
      model_(ctx, RankingModelConfigOf(config), ShardingOf(ranks_)),
      dense_(
          std::make_shared<DenseOptimizer>(ctx, DenseParameters(model_), config.dense_optimizer)),
      tasks_(TasksOf(config.model, config.data)),
      num_labels_(LabelsNeeded(tasks_, config.data)) {
  for (const TrainTask& t : tasks_)
    loss_weights_.push_back(t.task.weight == 1 ? Tensor()
                                               : Tensor::Full(ctx, Shape(), t.task.weight));
  if (num_groups() > 1) CheckGroupTables(config, &ranks_->plan);
  if (ranks_)
    parallel_.emplace(ctx, *comm(), model_.Parameters(),
                      DistributedModelParallelOptions{.codec = ranks_->codecs.dense});
  if (config.model.sampling_correction)
    frequencies_ = std::make_shared<ItemFrequencies>(*config.model.sampling_correction);
  MakeOptimizer();
  progress_.seed = config.seed;
}

std::shared_ptr<Optimizer> Trainer::TableOptimizer() {
  if (model_.sharded() == nullptr)
    return std::make_shared<FusedOptimizer>(model_.embedding_bag_collection().tables());
  return std::make_shared<ShardedFusedOptimizer>(ctx_, model_.sharded()->tables());
}

void Trainer::MakeOptimizer() {
  optimizer_ = dense_;
  if (config_.gradient_clipping.mode != GradientClipping::kNone)
    optimizer_ = std::make_shared<GradientClippingOptimizer>(
        dense_, OverRanks(config_.gradient_clipping, model_));
  if (config_.warmup.empty()) return;
  warmup_ = std::make_shared<WarmupOptimizer>(
      std::make_shared<CombinedOptimizer>(std::vector<CombinedOptimizer::Part>{
          {"tables", TableOptimizer()}, {"dense", optimizer_}}),
      config_.warmup);
  optimizer_ = warmup_;
}

Batch Trainer::PartOf(Context& host, Context& on, const Batch& batch) const {
  Batch part = !ranks_ || batch.rows_of_all > 0 ? batch : PartOfBatch(host, *comm(), batch);
  if (part.features.values().device() == Device::Cpu())
    part.features = model_.WithPositions(host, part.features);
  return part.To(on);
}

Variable Trainer::Forward(const Batch& batch) {
  const TraceSpan span("forward");
  return model_.Forward(ctx_, batch.dense, batch.features);
}

Batch Trainer::MyPart(const Batch& batch) { return PartOf(host_ ? *host_ : ctx_, ctx_, batch); }

void Trainer::AddLoss(AuxiliaryLoss loss) {
  bool known = std::ranges::any_of(
      tasks_, [&](const TrainTask& task) { return task.loss_name == loss.name; });
  for (const AuxiliaryLoss& other : more_losses_) known = known || other.name == loss.name;
  TESSERA_CHECK(!known, "AddLoss: there is a loss '{}'", loss.name);
  TESSERA_CHECK(std::isfinite(loss.weight), "AddLoss: '{}': weight {}", loss.name, loss.weight);
  TESSERA_CHECK(loss.mean != nullptr, "AddLoss: '{}' has no function", loss.name);
  loss_weights_.push_back(Tensor::Full(ctx_, Shape(), loss.weight));
  more_losses_.push_back(std::move(loss));
}

// The rows of each task that count, with the totals of all ranks.
std::vector<LossRows> Trainer::RowsOfTasks(const Batch& part) {
  std::vector<LossRows> counted;
  std::vector<Variable> totals;
  for (const TrainTask& task : tasks_) {
    counted.push_back(RowsOfTask(ctx_, task, part));
    totals.emplace_back(counted.back().total.Reshape({1}));
  }
  if (!ranks_) return counted;
  const Tensor mine = Concat(ctx_, totals, 0).value();
  const Tensor all = comm()->AllReduce(ctx_, mine, ReduceOp::kSum, "rows of tasks").Wait();
  for (size_t t = 0; t < counted.size(); ++t)
    counted[t].total = all.Rows(static_cast<int64_t>(t), static_cast<int64_t>(t) + 1).Reshape({});
  return counted;
}

// All losses, those of tasks first. A rank's loss is that of its rows times the number of ranks, so
// that the mean over the ranks is the loss of all.
std::vector<Variable> Trainer::Losses(const Variable& outputs, const Batch& batch,
                                      const std::vector<LossRows>& counted, int64_t rows,
                                      const Tensor& log_q) {
  std::vector<Variable> losses;
  CandidateGather gather;
  if (ranks_)
    gather = [&](const Variable& mine) {
      return AllCandidates{RowsOfAllRanks(ctx_, *comm(), mine, rows),
                           FirstRowOfRank(*comm(), rows)};
    };
  const double factor = ranks_ ? comm()->size() : 1;
  for (size_t t = 0; t < tasks_.size(); ++t)
    losses.push_back(model_.LossOfTask(ctx_, outputs, t, counted[t], factor, gather, log_q));
  for (const AuxiliaryLoss& more : more_losses_) {
    const auto mean = [&] { return more.mean(ctx_, outputs, batch); };
    losses.push_back(ranks_ ? LossOfPart(ctx_, *comm(), outputs, batch.size(), rows, mean)
                            : mean());
  }
  return losses;
}

Tensor Trainer::LogFrequencies(const Batch& part) {
  if (!frequencies_) return {};
  std::vector<int64_t> items = ItemsOf(ctx_, part.features, config_.model.candidate);
  const int64_t rows = part.whole_size(), mine = std::ssize(items);
  if (ranks_)
    items = GatherParts(ctx_, *comm(), Tensor::From(ctx_, items), rows).ToVector<int64_t>();
  const std::vector<float> logs = frequencies_->Observe(items, progress_.step + 1);
  const int64_t first = ranks_ ? FirstRowOfRank(*comm(), rows) : 0;
  return Tensor::From(ctx_, std::vector<float>(logs.begin() + first, logs.begin() + first + mine));
}

std::vector<ScoredBatch> Trainer::Scored(const Variable& outputs, const Batch& batch,
                                         const std::vector<LossRows>& counted) {
  const NoGrad no_grad(ctx_);
  const Variable predictions = model_.Probabilities(ctx_, outputs);
  std::vector<ScoredBatch> scored;
  for (size_t t = 0; t < tasks_.size(); ++t)
    scored.push_back({AnswerOfTask(ctx_, predictions, t).value(), counted[t].labels,
                      counted[t].weights, CountsOfTask(ctx_, tasks_[t], batch, counted[t]), batch});
  return scored;
}

void Trainer::Backward(Tape& tape, const std::vector<Variable>& losses) {
  const TraceSpan span("backward");
  tape.Backward(losses, loss_weights_);
}

// The loss over all ranks.
double Trainer::ReadLossSync(const std::vector<Variable>& losses) {
  const TraceSpan span("loss");
  const auto read = [&](const Tensor& mean) {
    return ranks_ ? MeanOverRanksSync(ctx_, *comm(), mean)
                  : static_cast<double>(ReadScalarSync(ctx_, mean.data<float>()));
  };
  double loss = 0;
  const auto add = [&](size_t i, const std::string& name, double weight) {
    loss += weight * (losses_[name] = read(losses[i]));
  };
  for (size_t t = 0; t < tasks_.size(); ++t) add(t, tasks_[t].loss_name, tasks_[t].task.weight);
  for (size_t i = 0; i < more_losses_.size(); ++i)
    add(tasks_.size() + i, more_losses_[i].name, more_losses_[i].weight);
  if (!std::isfinite(loss))
    throw Error(
        Format("the loss of step {} is {}: the training diverged; try smaller learning rates",
               progress_.step + 1, std::isnan(loss) ? "nan" : Format("{}", loss)));
  return loss;
}

double Trainer::StepBackward(const Batch& batch, int64_t rows, std::vector<ScoredBatch>* scored) {
  const std::vector<LossRows> counted = RowsOfTasks(batch);
  Tape tape(ctx_);
  const Variable outputs = Forward(batch);
  const std::vector<Variable> losses = Losses(outputs, batch, counted, rows, LogFrequencies(batch));
  const double loss = ReadLossSync(losses);
  if (frequencies_) frequencies_->Commit();
  if (scored != nullptr) *scored = Scored(outputs, batch, counted);
  if (parallel_) parallel_->Overlap(ctx_, tape);
  Backward(tape, losses);
  return loss;
}

void Trainer::AccumulateForwards(int forwards) {
  if (model_.sharded() == nullptr)
    model_.embedding_bag_collection().tables().AccumulateForwards(forwards);
  else
    model_.sharded()->tables().AccumulateForwards(forwards);
}

std::vector<Variable> Trainer::LossesOfAll(const Tensor& outputs, const Batch& batch,
                                           const std::vector<LossRows>& counted, int64_t rows) {
  const Tape whole_batch(ctx_);  // not a micro-batch of what is accumulated
  return Losses(outputs, batch, counted, rows);
}

// The loss of the whole batch is known before the last backward, which changes the first row.
double Trainer::AccumulateBackward(const Batch& batch, int64_t rows,
                                   std::vector<ScoredBatch>* scored) {
  const std::vector<LossRows> counted = RowsOfTasks(batch);
  const std::vector<int64_t> ends =
      EndsOfMicroBatches(batch.size(), LargestPart(rows, comm()), config_.accumulate_steps);
  Accumulation step(batch.size(), static_cast<int>(ends.size()));
  AccumulateForwards(static_cast<int>(ends.size()));
  std::vector<Variable> all_outputs;
  double loss = 0;
  int64_t begin = 0;
  for (const int64_t end : ends) {
    const Batch part = RowsOfBatch(ctx_, batch, begin, end);
    const std::vector<LossRows> of_part = PartsOf(counted, begin, end);
    step.Begin(part.size());
    begin = end;
    Tape tape(ctx_, &step);
    const Variable outputs = Forward(part);
    const std::vector<Variable> shares = Losses(outputs, part, of_part, rows);
    all_outputs.emplace_back(outputs.value());
    if (step.last()) {
      const Tensor all = Concat(ctx_, all_outputs, 0).value();
      loss = ReadLossSync(LossesOfAll(all, batch, counted, rows));
      if (scored != nullptr) *scored = Scored(all, batch, counted);
      if (parallel_) parallel_->Overlap(ctx_, tape);
    }
    Backward(tape, shares);
  }
  AccumulateForwards(1);
  return loss;
}

double Trainer::Step(const Batch& batch, std::vector<ScoredBatch>* scored) {
  CheckWeights(batch);
  CheckLabels(batch, num_labels_);
  CheckClicks(tasks_, batch);
  const Batch part = MyPart(batch);
  if (watch_) watch_(part);
  const double loss = config_.accumulate_steps == 1
                          ? StepBackward(part, batch.whole_size(), scored)
                          : AccumulateBackward(part, batch.whole_size(), scored);
  const TraceSpan span("optimizer");
  if (parallel_) parallel_->AverageGradients(ctx_);
  optimizer_->Step(ctx_);
  optimizer_->ZeroGrad();
  ++progress_.step;
  progress_.row = batch.end_row;
  groups_differ_ = num_groups() > 1;
  if (groups_differ_ && progress_.step % ranks_->sync_interval == 0) AverageGroups();
  return loss;
}

void Trainer::AverageGroups() {
  if (!groups_differ_) return;
  const TraceSpan span("average groups");
  AverageReplicas(ctx_, *ranks_->groups->replicas, model_.sharded()->tables(), /*states=*/true);
  groups_differ_ = false;
  ++averages_;
}

void Trainer::EndEpoch() {
  ++progress_.epoch;
  progress_.row = 0;
}

Tensor Trainer::OutputsOf(const Batch& given) {
  const Batch batch = MyPart(given);
  const Variable outputs = model_.Forward(ctx_, batch.dense, batch.features);
  return ranks_ ? GatherParts(ctx_, *comm(), outputs.value(), given.size()) : outputs.value();
}

Tensor Trainer::Predict(const Batch& batch) {
  AverageGroups();
  const NoGrad no_grad(ctx_);
  return model_.Probabilities(ctx_, OutputsOf(batch));
}

// Scores [B, B] of each query against each candidate of a batch, where a task asks for them.
Tensor Trainer::ScoresOfCandidates(const Tensor& outputs) {
  const bool any = std::ranges::any_of(
      tasks_, [](const TrainTask& task) { return task.task.loss == TaskLoss::kInBatchSoftmax; });
  if (!any) return {};
  const NoGrad no_grad(ctx_);
  const TowerEmbeddings towers = SplitTowers(ctx_, outputs);
  return MatMul(ctx_, towers.query, towers.candidate, /*transpose_b=*/true).value();
}

// While a batch's predictions come to the host, the next batch is already under way. Rank 0 counts
// for all.
EvaluationValues Trainer::Evaluate(DataSource& source, const std::function<bool()>& stop,
                                   const OnScored& on_scored) {
  struct Scored {
    HostCopy predictions;
    std::optional<HostCopy> scores;  // of candidates
    Batch batch;
  };
  AverageGroups();
  EvaluationMeter meter(tasks_);
  std::optional<Scored> last;
  const bool counts = !ranks_ || IsLeader(*comm());
  const auto add_last = [&] {
    if (!last || !counts) return;
    const std::vector<TaskExamples> examples = meter.Update(
        last->predictions.Wait(), last->scores ? last->scores->Wait() : Tensor(), last->batch);
    if (on_scored) on_scored(examples, last->batch);
  };
  while (!(stop && stop())) {
    std::optional<Batch> batch = source.Next();
    if (!batch) break;
    CheckWeights(*batch);
    CheckLabels(*batch, num_labels_);
    const NoGrad no_grad(ctx_);
    const Tensor outputs = OutputsOf(*batch), scores = ScoresOfCandidates(outputs);
    HostCopy predictions(ctx_, model_.Probabilities(ctx_, outputs));
    std::optional<HostCopy> of_candidates;
    if (scores) of_candidates.emplace(ctx_, scores);
    add_last();
    last.emplace(std::move(predictions), std::move(of_candidates), std::move(*batch));
  }
  add_last();
  return ValuesOf(meter);
}

EvaluationValues Trainer::ValuesOf(const EvaluationMeter& meter) {
  if (!ranks_) return meter.Values();
  std::vector<TaskValues> values;
  for (size_t t = 0; t < tasks_.size(); ++t)
    values.push_back(
        InvokeOnRankAndBroadcastResult(*comm(), 0, "metrics", [&] { return meter.ValuesOf(t); }));
  return EvaluationOf(tasks_, values);
}

TrainingProgress Trainer::progress() const {
  TrainingProgress progress = progress_;
  progress.max_counters.clear();
  const auto ask = [&](const auto& tables) {
    progress.iter = tables.iter();
    progress.max_counter = tables.max_counter();
    for (size_t t = 0; t < config_.tables.size(); ++t)
      if (std::holds_alternative<CounterRowwiseAdagrad>(config_.tables[t].optimizer))
        progress.max_counters[config_.tables[t].name] = tables.max_counter(static_cast<int>(t));
    std::erase_if(progress.max_counters,
                  [&](const auto& own) { return own.second == progress.max_counter; });
  };
  if (model_.sharded() != nullptr)
    ask(model_.sharded()->tables());
  else
    ask(model_.embedding_bag_collection().tables());
  progress.random_next_sequence = ctx_.random().next_sequence();
  progress.groups = num_groups() > 1 ? GroupsText(*ranks_) : "";
  return progress;
}

}  // namespace tessera
