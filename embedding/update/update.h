#ifndef TESSERA_EMBEDDING_UPDATE_UPDATE_H_
#define TESSERA_EMBEDDING_UPDATE_UPDATE_H_
// The table-batched backward with the optimizer fused in: for every row that the batch names, its
// gradient (row_ops.h) is summed over all occurrences and features of its table, then its rule acts
// once. No gradient of a table's size is ever made: the workspace is 16 to 36 bytes an id (and 12 a
// bag).
#include <cstdint>
#include <functional>
#include <span>

#include "embedding/lookup/lookup.h"
#include "embedding/update/row_rounding.h"
#include "optim/any_rule.h"
#include "runtime/context.h"
#include "runtime/device/scratch_pool.h"
#include "runtime/tensor.h"

namespace tessera {

// One table: which features of the lookup read it, its rule and state.
struct UpdateTable {
  void* weights = nullptr;  // [num_rows, dim] of row_type: f32, f16 or bf16
  int64_t num_rows = 0, dim = 0;
  // Places in LookupArgs::features, in the order their occurrences are added.
  ScratchVector<int> features;
  const AnyRule* rule = nullptr;
  // The rule's states in the order of its States(): [num_rows, dim] or [num_rows] of state_type
  // (f32, f16 or bf16; rounded to nearest), or f32 where StateSpec::counts.
  ScratchVector<void*> states = {};
  DType row_type = DType::kF32, state_type = DType::kF32;
  RowRounding rounding = {};
  // Factor of a row's summed gradient, applied before the rule sees it.
  float gradient_scale = 1;
};

struct UpdateArgs {
  // The lookup's arguments, but each feature's output, output_type (f32, f16 or bf16; one for all
  // features of a table) and output_stride are those of the gradient of its rows. A gradient of 16
  // bits is widened as it is read: the bits are those of the same numbers in f32.
  LookupArgs lookup;
  std::span<const UpdateTable> tables;
  int64_t step = 1;  // t of the rules: 1 at the first
  // While a CudaGraph is recorded (runtime/recorded_step.h): t of each launch. The tables' rules,
  // of which each launch reads the numbers anew, live as long as the graph.
  std::function<int64_t()> step_of_launch = nullptr;
};

// Updates all tables. Bits depend on nothing but the arguments: not on threads, instruction set or
// the order of tables. REQUIRES: no rule is Dense or None; fewer than 2^32 ids a table.
void Update(Context& ctx, const UpdateArgs& args);

// Does what some rules do to whole tables before the forward of a training step
// (optim/rules/table_sweep.h), which for most rules is nothing. Features are not read.
void SweepTables(Context& ctx, std::span<const UpdateTable> tables, int64_t step);

// The largest row_counter of the tables with rule CounterRowwiseAdagrad, plus 1 (1 if there is
// none). Waits for the device.
float MaxRowCounterSync(Context& ctx, std::span<const UpdateTable> tables);

// The per-sample weights with which a training forward reads tables of GlobalDecayRowwiseAdagrad:
// for each id of the features of such tables its weight (1 without weights) times what its row
// still owes (OwedDecay); others as they are. [lookup.num_ids] f32, or undefined if there is no
// such table: then the weights are to be used as they are. Throws Error for pooling NONE.
Tensor OwedWeights(Context& ctx, const LookupArgs& lookup, std::span<const UpdateTable> tables,
                   int64_t step);

// The gradient of one table (its rule is not used), rows ascending.
struct RowGradients {
  Tensor rows;   // [U] i64
  Tensor grads;  // [U, D] f32
};
RowGradients ComputeRowGradients(Context& ctx, const LookupArgs& lookup, const UpdateTable& table);
// Returns the gradient as a dense tensor [E, D], zero where no id named the row.
Tensor ComputeDenseGradient(Context& ctx, const LookupArgs& lookup, const UpdateTable& table);

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_UPDATE_UPDATE_H_
