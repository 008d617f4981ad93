#include "bench/lab/table_update.h"

#include <algorithm>
#include <variant>

#include "embedding/update/update_executor.h"
#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

using internal::RowUpdateArgs;

// Σ of the run's gradients in the chunks of row_ops.h, all columns at once.
void SumRun(const RowUpdateArgs& a, int64_t begin, int64_t end, int64_t, int, float* sum) {
  const auto dim = static_cast<size_t>(a.table.dim);
  thread_local std::vector<float> part;
  if (part.size() < dim) part.resize(dim);
  for (int64_t chunk = begin; chunk < end; chunk += kChunk) {
    float* to = chunk == begin ? sum : part.data();
    std::fill_n(to, dim, 0.0f);
    for (int64_t i = chunk; i < end && i < chunk + kChunk; ++i) {
      const auto g = a.GradientOf<float>(a.PayloadAt(i));
      for (size_t d = 0; d < dim; ++d) to[d] += g.coefficient * g.data[d];
    }
    for (size_t d = 0; chunk != begin && d < dim; ++d) sum[d] += part[d];
  }
}

const LookupFeature& FeatureOf(const UpdateArgs& args, const UpdateTable& table) {
  return args.lookup.features[static_cast<size_t>(table.features[0])];
}

}  // namespace

TableUpdate::TableUpdate(const UpdateArgs& args, const UpdateTable& table)
    : update_(args), table_(table) {
  const LookupArgs& lookup = args.lookup;
  const LookupFeature& f = FeatureOf(args, table);
  const int64_t first = lookup.offsets[f.first_bag];
  const bool by_id = f.pooling == PoolingType::kNone || lookup.weights != nullptr;
  for (int64_t b = 0; b < f.num_bags; ++b) {
    const int64_t begin = lookup.offsets[f.first_bag + b],
                  end = lookup.offsets[f.first_bag + b + 1];
    if (f.pooling == PoolingType::kMean) slot_scales_.push_back(MeanScale(end - begin));
    for (int64_t i = begin; i < end; ++i) {
      if (lookup.weights != nullptr) slots_.push_back(static_cast<int32_t>(b));
      if (IsRow(f.ids[i], table.num_rows))
        occurrences_.push_back(
            {static_cast<uint32_t>(f.ids[i]), static_cast<uint32_t>(by_id ? i - first : b)});
    }
  }
  args_.grad = f.OutputAt<float>(0);
  args_.slot_stride = f.output_stride;
  if (!slot_scales_.empty()) args_.slot_scales = slot_scales_.data();
  if (slots_.empty()) return;
  args_.slots = slots_.data();
  args_.sample_weights = lookup.weights + first;
}

void TableUpdate::Apply() const {
  RowUpdateArgs args = args_;
  args.occurrences = occurrences_.data();
  args.end = std::ssize(occurrences_);
  Run(args);
}

void TableUpdate::ApplySums(const std::vector<uint32_t>& rows, const float* sums) const {
  std::vector<RowOccurrence> each;
  for (const uint32_t row : rows) each.push_back({row, static_cast<uint32_t>(each.size())});
  RowUpdateArgs args;
  args.grad = sums;
  args.slot_stride = table_.dim;
  args.occurrences = each.data();
  args.end = std::ssize(each);
  Run(args);
}

void TableUpdate::Run(RowUpdateArgs args) const {
  args.table.weights = table_.weights;
  args.table.row_type = table_.row_type;
  args.table.dim = table_.dim;
  if (!table_.states.empty()) args.table.row_states[0] = {table_.states[0], table_.state_type};
  args.table.step = update_.step;
  const internal::RunSum sum{.full = SumRun, .block = table_.dim, .full_columns = table_.dim};
  args.run_sum = &sum;
  if (const auto* sgd = std::get_if<Sgd>(table_.rule))
    internal::TESSERA_ISA::Update(sgd->AtStep(update_.step), args);
  else if (const auto* adagrad = std::get_if<RowwiseAdagrad>(table_.rule))
    internal::TESSERA_ISA::Update(adagrad->AtStep(update_.step), args);
  else
    TESSERA_FAIL("rule {}; the lab updates by sgd and rowwise_adagrad", RuleName(*table_.rule));
}

}  // namespace tessera::bench
