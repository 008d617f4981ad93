#ifndef TESSERA_EMBEDDING_TABLE_TABLE_BACKWARD_H_
#define TESSERA_EMBEDDING_TABLE_TABLE_BACKWARD_H_
// A training step beside its lookup. Before it, steps are counted. In backward, gradients of the
// KJT's weights and of dense tables are returned, and all other tables are updated.
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "embedding/table/table_batch.h"
#include "runtime/autograd.h"
#include "runtime/device/scratch_pool.h"

namespace tessera::internal {

// Counts the step, then does what a few rules ask for before a lookup (rule_sweeps.h). Throws Error
// where a CudaGraph is recorded and such a rule acts in some steps and not in others.
void BeginTrainingStep(Context& ctx, const std::shared_ptr<TablesState>& state);

// Backward of a lookup. Inputs: the weights (if the collection is weighted), then the dense tables.
// Outputs: the pooled tensor (if the layout has one), then the sequences. Until it has run, or is
// gone, it counts in state->updates_pending if there is anything to update.
class TableBackward final : public Function {
 public:
  TableBackward(std::shared_ptr<TablesState> state, TableBatch batch, KeyedJaggedTensor kjt);
  ~TableBackward() override { SetPending(false); }
  std::string_view name() const override { return "embedding lookup"; }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grad_outputs) override;

 private:
  void SetPending(bool pending);
  // Whether the update waits for those of other micro-batches or ranks.
  bool updates_together() const;
  // The type in which the update reads the gradients: their own if that is of 16 bits, and they are
  // neither clamped nor joined with others; else f32.
  DType GradientType(const std::vector<Tensor>& grad_outputs) const;
  // Returns the gradient in `type`, clamped if asked; zeros where none arrived.
  Tensor Prepared(Context& ctx, const Tensor& grad, const Shape& shape, DType type) const;
  OutputTensors Gradients(Context& ctx, const std::vector<Tensor>& grad_outputs) const;
  Tensor WeightGradient(Context& ctx, const LookupArgs& lookup) const;
  // Updates tables; the gradients of dense ones are added to `grads`.
  void UpdateTables(Context& ctx, const TableBatch& batch, const OutputTensors& gradients,
                    std::vector<Tensor>& grads);
  // Updates tables of step `step` of their rules.
  void UpdateAt(Context& ctx, int64_t step, const LookupArgs& lookup,
                std::span<const UpdateTable> tables);
  // Keeps the update until the last micro-batch of the step, then updates with those of all
  // micro-batches, and of all ranks that hold the same tables.
  void UpdateTogether(Context& ctx, OutputTensors gradients, std::vector<Tensor>& grads);

  std::shared_ptr<TablesState> state_;
  TableBatch batch_;
  KeyedJaggedTensor kjt_;
  ScratchVector<int64_t> steps_;  // of each table
  bool pending_ = false;
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_TABLE_TABLE_BACKWARD_H_
