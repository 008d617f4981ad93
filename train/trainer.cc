#include "train/trainer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "comm/leader.h"
#include "embedding/fused_optimizer.h"
#include "optim/combined_optimizer.h"
#include "optim/gradient_clipping_optimizer.h"
#include "runtime/accumulation.h"
#include "runtime/ops/shaping.h"
#include "runtime/staging.h"
#include "runtime/trace.h"
#include "sharding/sharded_fused_optimizer.h"
#include "train/data/batch_rows.h"
#include "train/model_config.h"

namespace tessera {
namespace {

// Examples of the rank that has the most.
int64_t LargestPart(int64_t rows, const Communicator* comm) {
  return comm == nullptr ? rows : (rows + comm->size() - 1) / comm->size();
}

// Of the `mine` examples of a rank, where none has more than `most`: every rank has as many
// micro-batches, whose numbers of examples are multiples of Accumulation::kExamples.
std::vector<int64_t> EndsOfMicroBatches(int64_t mine, int64_t most, int64_t steps) {
  constexpr int64_t kMultiple = Accumulation::kExamples;
  const int64_t size = ((most + steps - 1) / steps + kMultiple - 1) / kMultiple * kMultiple;
  std::vector<int64_t> ends;
  for (int64_t end = size; end < most; end += size) ends.push_back(std::min(end, mine));
  ends.push_back(mine);
  return ends;
}

std::optional<ModelSharding> ShardingOf(const std::optional<TrainingRanks>& ranks) {
  if (!ranks) return {};
  return ModelSharding{
      .comm = ranks->comm, .plan = ranks->plan, .options = {.codecs = ranks->codecs}};
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

std::shared_ptr<Optimizer> Trainer::TableOptimizer() {
  if (model_.sharded() == nullptr)
    return std::make_shared<FusedOptimizer>(model_.embedding_bag_collection().tables());
  return std::make_shared<ShardedFusedOptimizer>(ctx_, model_.sharded()->tables());
}

void Trainer::MakeOptimizer() {
  optimizer_ = dense_;
  if (config_.gradient_clipping.mode != GradientClipping::kNone)
    optimizer_ = std::make_shared<GradientClippingOptimizer>(dense_, config_.gradient_clipping);
  if (config_.warmup.empty()) return;
  warmup_ = std::make_shared<WarmupOptimizer>(
      std::make_shared<CombinedOptimizer>(std::vector<CombinedOptimizer::Part>{
          {"tables", TableOptimizer()}, {"dense", optimizer_}}),
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

void Trainer::AccumulateForwards(int forwards) {
  if (model_.sharded() == nullptr)
    model_.embedding_bag_collection().tables().AccumulateForwards(forwards);
  else
    model_.sharded()->tables().AccumulateForwards(forwards);
}

Tensor Trainer::LossOfAll(const Tensor& outputs, const Tensor& labels, int64_t rows) {
  const Tape whole_batch(ctx_);  // not a micro-batch of what is accumulated
  const Variable all = outputs;
  return ranks_ ? LossOfPart(ctx_, *comm(), model_, all, labels, rows)
                : model_.Loss(ctx_, all, labels);
}

// The loss of all is known before the last backward, which changes the first row.
double Trainer::AccumulateBackward(const Batch& batch, int64_t rows, ScoredBatch* scored) {
  const std::vector<int64_t> ends =
      EndsOfMicroBatches(batch.size(), LargestPart(rows, comm()), config_.accumulate_steps);
  Accumulation step(batch.size(), static_cast<int>(ends.size()));
  AccumulateForwards(static_cast<int>(ends.size()));
  std::vector<Variable> all_outputs;
  double loss = 0;
  int64_t begin = 0;
  for (const int64_t end : ends) {
    const Batch part = RowsOfBatch(ctx_, batch, begin, end);
    step.Begin(part.size());
    begin = end;
    Tape tape(ctx_, &step);
    Variable outputs;
    const Variable share = Loss(part, rows, outputs);
    all_outputs.emplace_back(outputs.value());
    if (step.last()) {
      const Tensor all = Concat(ctx_, all_outputs, 0).value();
      loss = ReadLossSync(LossOfAll(all, batch.labels, rows));
      if (scored != nullptr) *scored = {model_.Probabilities(ctx_, all), batch.labels};
      if (parallel_) parallel_->Overlap(ctx_, tape);
    }
    const TraceSpan span("backward");
    tape.Backward(share);
  }
  AccumulateForwards(1);
  return loss;
}

double Trainer::Step(const Batch& batch, ScoredBatch* scored) {
  const Batch part = MyPart(batch);
  const double loss = config_.accumulate_steps == 1
                          ? StepBackward(part, batch.whole_size(), scored)
                          : AccumulateBackward(part, batch.whole_size(), scored);
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

}  // namespace tessera
