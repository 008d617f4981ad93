#include <algorithm>
#include <variant>

#include "bench/lab/update_variant.h"
#include "embedding/update/update_executor.h"
#include "runtime/base/check.h"
#include "runtime/context.h"

namespace tessera::bench {
namespace {

using internal::RowUpdateArgs;
using internal::ScaledGradient;

// Σ of the run's gradients in the chunks of row_ops.h, all columns at once.
void SumRun(const RowUpdateArgs& a, int64_t begin, int64_t end, int64_t, int, float* sum) {
  const auto dim = static_cast<size_t>(a.table.dim);
  thread_local std::vector<float> part;
  if (part.size() < dim) part.resize(dim);
  for (int64_t chunk = begin; chunk < end; chunk += kChunk) {
    float* to = chunk == begin ? sum : part.data();
    std::fill_n(to, dim, 0.0f);
    for (int64_t i = chunk; i < end && i < chunk + kChunk; ++i) {
      const ScaledGradient g = a.GradientOf(a.PayloadAt(i));
      for (size_t d = 0; d < dim; ++d) to[d] += g.coefficient * g.data[d];
    }
    for (size_t d = 0; chunk != begin && d < dim; ++d) sum[d] += part[d];
  }
}

// One table's occurrences, and what their gradients are found and multiplied by.
struct TableBatch {
  std::vector<RowOccurrence> occurrences;
  std::vector<int32_t> slots;      // with weights: of each id
  std::vector<float> slot_scales;  // of MEAN: of each bag
};

TableBatch Collect(const LookupArgs& lookup, const LookupFeature& f, int64_t num_rows) {
  TableBatch batch;
  const int64_t first = lookup.offsets[f.first_bag];
  const bool by_id = f.pooling == PoolingType::kNone || lookup.weights != nullptr;
  for (int64_t b = 0; b < f.num_bags; ++b) {
    const int64_t begin = lookup.offsets[f.first_bag + b],
                  end = lookup.offsets[f.first_bag + b + 1];
    if (f.pooling == PoolingType::kMean) batch.slot_scales.push_back(MeanScale(end - begin));
    for (int64_t i = begin; i < end; ++i) {
      if (lookup.weights != nullptr) batch.slots.push_back(static_cast<int32_t>(b));
      if (IsRow(f.ids[i], num_rows))
        batch.occurrences.push_back(
            {static_cast<uint32_t>(f.ids[i]), static_cast<uint32_t>(by_id ? i - first : b)});
    }
  }
  return batch;
}

RowUpdateArgs ArgsOf(const UpdateArgs& args, const UpdateTable& table, const LookupFeature& f,
                     const TableBatch& batch) {
  RowUpdateArgs row;
  row.table.weights = table.weights;
  row.table.row_type = table.row_type;
  row.table.dim = table.dim;
  if (!table.states.empty()) row.table.row_states[0] = {table.states[0], table.state_type};
  row.table.step = args.step;
  row.grad = f.OutputAt<float>(0);
  row.slot_stride = f.output_stride;
  if (!batch.slot_scales.empty()) row.slot_scales = batch.slot_scales.data();
  if (!batch.slots.empty()) {
    row.slots = batch.slots.data();
    row.sample_weights = args.lookup.weights + args.lookup.offsets[f.first_bag];
  }
  row.occurrences = batch.occurrences.data();
  row.end = static_cast<int64_t>(batch.occurrences.size());
  return row;
}

void UpdateTableGrouped(const UpdateArgs& args, const UpdateTable& table, const Grouping& group) {
  const LookupFeature& f = args.lookup.features[static_cast<size_t>(table.features[0])];
  TableBatch batch = Collect(args.lookup, f, table.num_rows);
  group(batch.occurrences);
  RowUpdateArgs update = ArgsOf(args, table, f, batch);
  const internal::RunSum sum{.full = SumRun, .block = table.dim, .full_columns = table.dim};
  update.run_sum = &sum;
  if (const auto* sgd = std::get_if<Sgd>(table.rule))
    internal::TESSERA_ISA::Update(sgd->AtStep(args.step), update);
  else if (const auto* adagrad = std::get_if<RowwiseAdagrad>(table.rule))
    internal::TESSERA_ISA::Update(adagrad->AtStep(args.step), update);
  else
    TESSERA_FAIL("rule {}; the lab updates by sgd and rowwise_adagrad", RuleName(*table.rule));
}

}  // namespace

void UpdateGrouped(Context& ctx, const UpdateArgs& args, const Grouping& group) {
  ParallelFor(ctx, static_cast<int64_t>(args.tables.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t)
      UpdateTableGrouped(args, args.tables[static_cast<size_t>(t)], group);
  });
}

}  // namespace tessera::bench
