#include "embedding/table/table_backward.h"

#include <map>
#include <utility>
#include <vector>

#include "embedding/table/own_batches.h"
#include "embedding/table/rule_sweeps.h"
#include "embedding/update/clamp_gradient.h"
#include "runtime/base/check.h"
#include "runtime/files/trace.h"
#include "runtime/ops/arithmetic.h"
#include "runtime/recorded_step.h"

namespace tessera::internal {
namespace {

void CountSteps(TablesState& state, int64_t steps) {
  state.iter += steps;
  for (EmbeddingTable& table : state.tables) table.iter += steps;
}

// Counts the steps of a recorded step's launches.
void CountLaunches(Context& ctx, const std::shared_ptr<TablesState>& state) {
  std::vector<bool> frozen;
  for (const EmbeddingTable& table : state->tables) frozen.push_back(table.frozen);
  const auto count = [state, frozen] {
    for (size_t t = 0; t < frozen.size(); ++t)
      TESSERA_CHECK(state->tables[t].frozen == frozen[t],
                    "table {} was frozen or set free since the step was recorded: record it again",
                    state->tables[t].config.name);
    CountSteps(*state, 1);
  };
  RepeatOnLaunch(ctx, count, [state] { CountSteps(*state, -1); });
}

// A table that a recorded update changes, and its step then, beyond its counter.
struct RecordedTable {
  size_t table;
  int64_t ahead;
};

// The step that tables count now, which were of one step when it was recorded.
int64_t StepNow(const TablesState& state, const std::vector<RecordedTable>& recorded) {
  const auto step_of = [&](const RecordedTable& r) { return state.tables[r.table].iter + r.ahead; };
  for (const RecordedTable& r : recorded)
    TESSERA_CHECK(step_of(r) == step_of(recorded[0]),
                  "tables {} and {} are updated together by a recorded step, but count steps {} "
                  "and {}: record it again after set_iter of one of them",
                  state.tables[recorded[0].table].config.name, state.tables[r.table].config.name,
                  step_of(recorded[0]), step_of(r));
  return step_of(recorded[0]);
}

}  // namespace

void BeginTrainingStep(Context& ctx, const std::shared_ptr<TablesState>& state) {
  for (const EmbeddingTable& table : state->tables)
    if (ActsInSomeSteps(table))
      CheckIsNotRecording(
          ctx, Format("table {} with {}", table.config.name, RuleName(table.config.optimizer)),
          "before the lookup of some steps, not of all, the rule works on the table");
  CountSteps(*state, 1);
  if (IsRecording(ctx)) CountLaunches(ctx, state);
  SweepForRules(ctx, *state);
}

TableBackward::TableBackward(std::shared_ptr<TablesState> state, TableBatch batch,
                             KeyedJaggedTensor kjt)
    : state_(std::move(state)), batch_(std::move(batch)), kjt_(std::move(kjt)) {
  steps_.reserve(state_->tables.size());
  for (const EmbeddingTable& table : state_->tables) {
    steps_.push_back(table.iter);
    if (!table.dense()) SetPending(true);
  }
}

void TableBackward::SetPending(bool pending) {
  state_->updates_pending += static_cast<int>(pending) - static_cast<int>(pending_);
  pending_ = pending;
}

std::vector<Tensor> TableBackward::Backward(Context& ctx, const std::vector<Tensor>& grad_outputs) {
  const TraceSpan span("update");
  OutputTensors gradients = Gradients(ctx, grad_outputs);
  batch_.cached().Load(ctx, *state_);
  std::vector<Tensor> grads;
  // The weights' gradient needs the rows as they were before any update.
  if (state_->options.weighted) {
    const ScratchVector<LookupFeature> features = batch_.Features(*state_, gradients);
    grads.push_back(needs_grad(0) ? WeightGradient(ctx, batch_.Args(features)) : Tensor());
  }
  if (updates_together())
    UpdateTogether(ctx, std::move(gradients), grads);
  else
    UpdateTables(ctx, batch_, gradients, grads);
  SetPending(false);
  return grads;
}

void TableBackward::UpdateTables(Context& ctx, const TableBatch& batch,
                                 const OutputTensors& gradients, std::vector<Tensor>& grads) {
  const ScratchVector<LookupFeature> features = batch.Features(*state_, gradients);
  const LookupArgs lookup = batch.Args(features);
  TablesByStep updates;
  for (size_t t = 0; t < state_->tables.size(); ++t) {
    EmbeddingTable& table = state_->tables[t];
    table.row_gradients = {};
    if (table.frozen && !table.dense()) continue;
    const UpdateTable update = batch.UpdateOf(*state_, static_cast<int>(t));
    if (table.dense())
      grads.push_back(table.frozen ? Tensor() : ComputeDenseGradient(ctx, lookup, update));
    else if (table.without_rule())
      table.row_gradients = ComputeRowGradients(ctx, lookup, update);
    else
      updates[steps_[t]].push_back(update);
    if (table.touched && table.updated()) table.touched->TouchUpdated(ctx, lookup, update);
  }
  for (const auto& [step, tables] : updates) UpdateAt(ctx, step, lookup, tables);
  batch.cached().Release(ctx, *state_, /*updated=*/true);
}

void TableBackward::UpdateAt(Context& ctx, int64_t step, const LookupArgs& lookup,
                             std::span<const UpdateTable> tables) {
  UpdateArgs args = {lookup, tables, step};
  if (IsRecording(ctx)) {
    std::vector<RecordedTable> recorded;
    for (size_t t = 0; t < state_->tables.size(); ++t)
      if (steps_[t] == step && state_->tables[t].updated())
        recorded.push_back({t, step - state_->tables[t].iter});
    args.step_of_launch = [state = state_, recorded] { return StepNow(*state, recorded); };
  }
  Update(ctx, args);
}

void TableBackward::UpdateTogether(Context& ctx, OutputTensors gradients,
                                   std::vector<Tensor>& grads) {
  batch_.cached().Release(ctx, *state_, /*updated=*/false);
  UpdateBatch all = {kjt_.inverse_indices_or_none() ? WithOwnBatches(ctx, kjt_) : kjt_,
                     std::move(gradients.pooled), std::move(gradients.sequences)};
  if (state_->kept.accumulates()) {
    const std::vector<UpdateBatch> parts = state_->kept.Keep(std::move(all));
    if (parts.empty()) {
      for (const EmbeddingTable& table : state_->tables)
        if (table.dense()) grads.emplace_back();
      return;
    }
    all = JoinUpdates(ctx, ShapesOf(*state_, parts[0].kjt), parts);
  }
  if (state_->options.sharding.exchange_updates)
    all = state_->options.sharding.exchange_updates(ctx, std::move(all));
  const TableBatch batch(ctx, *state_, all.kjt, /*findings=*/{});
  batch.cached().Load(ctx, *state_);
  batch.StartRows(*state_);  // those that other ranks alone have read, too
  UpdateTables(ctx, batch, {std::move(all.pooled), std::move(all.sequences)}, grads);
}

bool TableBackward::updates_together() const {
  return state_->kept.accumulates() || state_->options.sharding.exchange_updates;
}

DType TableBackward::GradientType(const std::vector<Tensor>& grad_outputs) const {
  if (state_->options.max_gradient > 0 || updates_together()) return DType::kF32;
  DType type = state_->options.output_type;
  for (const Tensor& grad : grad_outputs)
    if (grad && grad.dtype() != type) type = DType::kF32;
  return type;
}

Tensor TableBackward::Prepared(Context& ctx, const Tensor& grad, const Shape& shape,
                               DType type) const {
  if (!grad) return Tensor::Zeros(ctx, shape, type);
  const float limit = state_->options.max_gradient;
  return limit > 0 ? ClampGradient(ctx, grad, limit) : grad.To(ctx, type).Contiguous(ctx);
}

OutputTensors TableBackward::Gradients(Context& ctx,
                                       const std::vector<Tensor>& grad_outputs) const {
  const OutputLayout& layout = batch_.layout();
  const DType type = GradientType(grad_outputs);
  OutputTensors gradients;
  size_t next = 0;
  if (layout.has_pooled())
    gradients.pooled =
        layout.Fold(ctx, Prepared(ctx, grad_outputs[next++], layout.pooled_shape(), type));
  for (const Shape& shape : layout.sequence_shapes())
    gradients.sequences.push_back(Prepared(ctx, grad_outputs[next++], shape, type));
  return gradients;
}

Tensor TableBackward::WeightGradient(Context& ctx, const LookupArgs& lookup) const {
  const std::vector<bool>& required = state_->options.feature_requires_grad;
  const std::span<const OutputPart> parts = batch_.layout().parts();
  // A call writes the gradient of each id once: a key's second reader goes into a second call.
  ScratchVector<ScratchVector<LookupFeature>> calls(1);
  std::map<int64_t, size_t> readers;  // of a run of bags, by its first
  for (size_t p = 0; p < parts.size(); ++p) {
    if (!required.empty() && !required[static_cast<size_t>(parts[p].feature)]) continue;
    if (parts[p].num_bags == 0) continue;
    const size_t call = readers[parts[p].first_bag]++;
    if (call == calls.size()) calls.emplace_back();
    calls[call].push_back(lookup.features[p]);
  }
  Tensor sum;
  for (const ScratchVector<LookupFeature>& features : calls) {
    const Tensor gradient = Tensor::Zeros(ctx, {batch_.num_ids()});
    LookupArgs args = lookup;
    args.features = features;
    LookupWeightGradients(ctx, args, gradient.data<float>());
    sum = sum ? Add(ctx, sum, gradient).value() : gradient;
  }
  return sum;
}

}  // namespace tessera::internal
