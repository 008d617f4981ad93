#ifndef TESSERA_BENCH_LAB_TABLE_UPDATE_H_
#define TESSERA_BENCH_LAB_TABLE_UPDATE_H_
// Variants of an update have this in common: one table's occurrences in a batch, their gradients,
// and the rule that acts on its rows, compiled for the machine at hand.
#include <cstdint>
#include <vector>

#include "bench/lab/grouping_kernel.h"
#include "embedding/update/row_update.h"
#include "embedding/update/update.h"
#include "runtime/context.h"

namespace tessera::bench {

class TableUpdate {
 public:
  // Collects the ids that name rows. REQUIRES: rule Sgd or RowwiseAdagrad, fewer than 2^32 rows,
  // one feature a table, gradients of f32.
  TableUpdate(const UpdateArgs& args, const UpdateTable& table);

  int64_t dim() const { return table_.dim; }
  // In the order of the batch.
  std::vector<RowOccurrence>& occurrences() { return occurrences_; }
  // coefficient · data[0 … dim()), the gradient of an occurrence.
  internal::OccurrenceGradient<float> GradientOf(const RowOccurrence& occurrence) const {
    return args_.GradientOf<float>(occurrence.payload);
  }

  // Sums each row's gradients and applies the rule to it. REQUIRES: equal rows are neighbours among
  // occurrences(), each row's in the order they came in; the order of rows is free.
  void Apply() const;
  // Applies the rule to rows[i] with the sum of its gradients, sums[i · dim() …].
  void ApplySums(const std::vector<uint32_t>& rows, const float* sums) const;

 private:
  void Run(internal::RowUpdateArgs args) const;

  const UpdateArgs& update_;
  const UpdateTable& table_;
  std::vector<RowOccurrence> occurrences_;
  std::vector<int32_t> slots_;      // with weights: of each id
  std::vector<float> slot_scales_;  // of MEAN: of each bag
  internal::RowUpdateArgs args_;
};

// Calls fn(TableUpdate&) for each table, a table a thread.
template <typename Fn>
void ForEachTable(Context& ctx, const UpdateArgs& args, const Fn& fn) {
  ParallelFor(ctx, std::ssize(args.tables), 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      TableUpdate update(args, args.tables[static_cast<size_t>(t)]);
      fn(update);
    }
  });
}

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LAB_TABLE_UPDATE_H_
