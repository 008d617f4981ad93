#include <variant>

#include "bench/lab/update_variants.h"
#include "embedding/update/update_executor.h"
#include "runtime/base/check.h"
#include "runtime/context.h"

namespace tessera::bench {
namespace {

using internal::RowUpdateArgs;

constexpr int64_t kMaxColumns = 256;

// Σ of the run's gradients in the chunks of row_ops.h, all columns at once.
void SumRun(const RowUpdateArgs& a, int64_t begin, int64_t end, int64_t, int, float* sum) {
  const int64_t dim = a.table.dim;
  float part[kMaxColumns];
  for (int64_t chunk = begin; chunk < end; chunk += kChunk) {
    float* to = chunk == begin ? sum : part;
    for (int64_t d = 0; d < dim; ++d) to[d] = 0;
    for (int64_t i = chunk; i < end && i < chunk + kChunk; ++i) {
      const float* g = a.GradientOf(a.PayloadAt(i)).data;
      for (int64_t d = 0; d < dim; ++d) to[d] += g[d];
    }
    for (int64_t d = 0; chunk != begin && d < dim; ++d) sum[d] += part[d];
  }
}

std::vector<RowOccurrence> Collect(const LookupArgs& lookup, const LookupFeature& f,
                                   int64_t num_rows) {
  std::vector<RowOccurrence> occurrences;
  for (int64_t b = 0; b < f.num_bags; ++b)
    for (int64_t i = lookup.offsets[f.first_bag + b]; i < lookup.offsets[f.first_bag + b + 1]; ++i)
      if (IsRow(f.ids[i], num_rows))
        occurrences.push_back({static_cast<uint32_t>(f.ids[i]), static_cast<uint32_t>(b)});
  return occurrences;
}

RowUpdateArgs ArgsOf(const UpdateTable& table, const LookupFeature& f, int64_t step) {
  RowUpdateArgs args;
  args.table.weights = table.weights;
  args.table.dim = table.dim;
  if (!table.states.empty()) args.table.row_states[0].data = table.states[0];
  args.table.step = step;
  args.grad = f.OutputAt<float>(0);
  args.slot_stride = f.output_stride;
  return args;
}

void UpdateTableGrouped(const UpdateArgs& args, const UpdateTable& table, Grouping group) {
  const LookupFeature& f = args.lookup.features[static_cast<size_t>(table.features[0])];
  std::vector<RowOccurrence> occurrences = Collect(args.lookup, f, table.num_rows);
  group(occurrences);
  RowUpdateArgs update = ArgsOf(table, f, args.step);
  TESSERA_CHECK_LE(table.dim, kMaxColumns, "dim of a table in the lab");
  const internal::RunSum sum{.full = SumRun, .block = table.dim, .full_columns = table.dim};
  update.run_sum = &sum;
  update.occurrences = occurrences.data();
  update.end = static_cast<int64_t>(occurrences.size());
  if (const auto* sgd = std::get_if<Sgd>(table.rule))
    internal::TESSERA_ISA::Update(sgd->AtStep(args.step), update);
  else if (const auto* adagrad = std::get_if<RowwiseAdagrad>(table.rule))
    internal::TESSERA_ISA::Update(adagrad->AtStep(args.step), update);
  else
    TESSERA_FAIL("rule {}; the lab updates by sgd and rowwise_adagrad", RuleName(*table.rule));
}

}  // namespace

void UpdateGrouped(Context& ctx, const UpdateArgs& args, Grouping group) {
  ParallelFor(ctx, static_cast<int64_t>(args.tables.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t)
      UpdateTableGrouped(args, args.tables[static_cast<size_t>(t)], group);
  });
}

}  // namespace tessera::bench
