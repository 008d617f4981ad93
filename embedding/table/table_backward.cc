#include "embedding/table/table_backward.h"

#include <map>
#include <utility>

#include "embedding/table/own_batches.h"
#include "embedding/table/rule_sweeps.h"
#include "embedding/update/clamp_gradient.h"
#include "runtime/files/trace.h"
#include "runtime/ops/arithmetic.h"

namespace tessera::internal {

void BeginTrainingStep(Context& ctx, TablesState& state) {
  ++state.iter;
  for (EmbeddingTable& table : state.tables) ++table.iter;
  SweepForRules(ctx, state);
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
  if (state_->kept.accumulates() || state_->options.sharding.exchange_updates)
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
  for (const auto& [step, tables] : updates) Update(ctx, {lookup, tables, step});
  batch.cached().Release(ctx, *state_, /*updated=*/true);
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
  UpdateTables(ctx, batch, {std::move(all.pooled), std::move(all.sequences)}, grads);
}

Tensor TableBackward::Prepared(Context& ctx, const Tensor& grad, const Shape& shape) const {
  if (!grad) return Tensor::Zeros(ctx, shape);
  const Tensor wide = grad.To(ctx, DType::kF32);
  const float limit = state_->options.max_gradient;
  return limit > 0 ? ClampGradient(ctx, wide, limit) : wide.Contiguous(ctx);
}

OutputTensors TableBackward::Gradients(Context& ctx,
                                       const std::vector<Tensor>& grad_outputs) const {
  const OutputLayout& layout = batch_.layout();
  OutputTensors gradients;
  size_t next = 0;
  if (layout.has_pooled())
    gradients.pooled = layout.Fold(ctx, Prepared(ctx, grad_outputs[next++], layout.pooled_shape()));
  for (const Shape& shape : layout.sequence_shapes())
    gradients.sequences.push_back(Prepared(ctx, grad_outputs[next++], shape));
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
  // The forward read p·f·row: its derivative has the factor f, which is the decay that the row
  // owes.
  const Tensor owed =
      PendingDecayWeights(ctx, *state_, batch_, lookup.features, /*weighted=*/false);
  return owed ? Mul(ctx, sum, owed).value() : sum;
}

}  // namespace tessera::internal
