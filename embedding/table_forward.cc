#include "embedding/table_forward.h"

#include <utility>

#include "embedding/table/rule_sweeps.h"
#include "embedding/table/table_backward.h"
#include "runtime/files/trace.h"
#include "runtime/tensor.h"
#include "sparse/same_features.h"

namespace tessera::internal {
namespace {

OutputTensors EmptyOutputs(Context& ctx, const OutputLayout& layout, DType type) {
  OutputTensors outputs;
  if (layout.has_pooled()) outputs.pooled = Tensor::Empty(ctx, layout.distinct_shape(), type);
  for (const Shape& shape : layout.sequence_shapes())
    outputs.sequences.push_back(Tensor::Empty(ctx, shape, type));
  return outputs;
}

// Sequences take no weights: beside bags with weights, they are looked up by a call of their own.
void LookupAll(Context& ctx, const LookupArgs& args) {
  if (args.weights == nullptr) return Lookup(ctx, args);
  ScratchVector<LookupFeature> pooled, sequences;
  for (const LookupFeature& f : args.features)
    (f.pooling == PoolingType::kNone ? sequences : pooled).push_back(f);
  if (sequences.empty()) return Lookup(ctx, args);
  LookupArgs part = args;
  part.features = pooled;
  Lookup(ctx, part);
  part.features = sequences;
  part.weights = nullptr;
  Lookup(ctx, part);
}

void Read(Context& ctx, const TablesState& state, const TableBatch& batch,
          const OutputTensors& outputs, bool training) {
  const TraceSpan span("lookup");
  batch.cached().Load(ctx, state);
  batch.StartRows(state);
  const ScratchVector<LookupFeature> features = batch.Features(state, outputs);
  LookupArgs args = batch.Args(features);
  const Tensor owed = training ? PendingDecayWeights(ctx, state, batch, features) : Tensor();
  if (owed) args.weights = owed.data<float>();
  LookupAll(ctx, args);
  if (!training) batch.cached().Release(ctx, state, /*updated=*/false);
}

// The batch of `kjt`: the first prefetched one if that is of `kjt`.
TableBatch TakeBatch(Context& ctx, TablesState& state, const KeyedJaggedTensor& kjt,
                     bool training) {
  if (state.prefetched.empty()) return TableBatch(ctx, state, kjt);
  const Prefetched first = state.prefetched.front();
  if (SameFeatures(kjt, first.features, state.options.weighted)) {
    state.prefetched.pop_front();
    first.batch->RecordStream(ctx);
    return *first.batch;
  }
  TESSERA_CHECK(!training,
                "a training forward of another batch than the first of {} that were prefetched, as "
                "PrefetchTrainPipelineSparseDist does ahead of its steps: expected the same ids, "
                "bags, keys and weights, or that all of them are dropped before "
                "(TableCaches::ForgetPrefetched)",
                state.prefetched.size());
  return TableBatch(ctx, state, kjt);
}

std::vector<Variable> Recorded(Context& ctx, const std::shared_ptr<TablesState>& state,
                               TableBatch batch, const KeyedJaggedTensor& kjt,
                               std::vector<Tensor> outputs) {
  if (ctx.tape() == nullptr) return std::vector<Variable>(outputs.begin(), outputs.end());
  std::vector<Variable> inputs;
  if (state->options.weighted) inputs.push_back(kjt.weights());
  for (const EmbeddingTable& table : state->tables)
    if (table.dense()) inputs.push_back(table.variable);
  return Record(ctx, std::make_unique<TableBackward>(state, std::move(batch), kjt),
                std::move(inputs), std::move(outputs), /*always=*/true);
}

}  // namespace

EmbeddingOutputs ForwardTables(Context& ctx, const std::shared_ptr<TablesState>& state,
                               const KeyedJaggedTensor& kjt) {
  const bool training = ctx.tape() != nullptr;
  TESSERA_CHECK(!training || state->updates_pending < state->max_updates_pending,
                "a second training forward before the backward of the first: its update would be "
                "computed from rows that the first has changed. Call Tape::Backward between them, "
                "or, to look up without training, make a NoGrad first");
  TableBatch batch = TakeBatch(ctx, *state, kjt, training);
  const OutputLayout layout = batch.layout();
  const OutputTensors tensors = EmptyOutputs(ctx, layout, state->options.output_type);
  if (training && state->kept.BeginForward()) BeginTrainingStep(ctx, state);
  Read(ctx, *state, batch, tensors, training);

  std::vector<Tensor> outputs;
  if (layout.has_pooled()) outputs.push_back(layout.Expand(ctx, tensors.pooled));
  outputs.insert(outputs.end(), tensors.sequences.begin(), tensors.sequences.end());
  std::vector<Variable> variables = Recorded(ctx, state, std::move(batch), kjt, std::move(outputs));
  EmbeddingOutputs result;
  if (layout.has_pooled()) result.pooled = variables[0];
  result.sequences.assign(variables.begin() + layout.has_pooled(), variables.end());
  return result;
}

}  // namespace tessera::internal
