// Gradients are read once, in the order of the batch, and added to sums of their rows; rows are
// updated in the order in which the batch first names them. No id is sorted, and the sums of all
// rows that the batch names must fit the caches: another order of memory access than ours, which
// reads a row's gradients wherever they lie.
#include <unordered_map>
#include <vector>

#include "bench/lab/table_update.h"
#include "bench/lab/variant.h"
#include "embedding/lookup/row_ops.h"
#include "runtime/context.h"

namespace tessera::bench {
namespace {

// The sums of one table's rows: of chunks of kChunk gradients, whose sums are added in order
// (row_ops.h), as every update has them.
class RowSums {
 public:
  explicit RowSums(int64_t dim) : dim_(static_cast<size_t>(dim)) {}

  void Add(uint32_t row, const internal::OccurrenceGradient<float>& gradient) {
    const auto [place, is_new] = places_.try_emplace(row, rows_.size());
    if (is_new) {
      rows_.push_back(row);
      counts_.push_back(0);
      sums_.resize(sums_.size() + dim_);
      parts_.resize(sums_.size());
    }
    float* part = parts_.data() + place->second * dim_;
    for (size_t d = 0; d < dim_; ++d) part[d] += gradient.coefficient * gradient.data[d];
    if (++counts_[place->second] % kChunk == 0) EndChunk(place->second);
  }
  void Apply(const TableUpdate& table) {
    for (size_t i = 0; i < rows_.size(); ++i) EndChunk(i);
    table.ApplySums(rows_, sums_.data());
  }

 private:
  void EndChunk(size_t place) {
    float *sum = sums_.data() + place * dim_, *part = parts_.data() + place * dim_;
    for (size_t d = 0; d < dim_; ++d) {
      sum[d] += part[d];
      part[d] = 0;
    }
  }

  size_t dim_;
  std::unordered_map<uint32_t, size_t> places_;
  std::vector<uint32_t> rows_;
  std::vector<int64_t> counts_;
  std::vector<float> sums_, parts_;  // [rows, dim]; of whole chunks, and of the one at hand
};

void UpdateInBatchOrder(Context& ctx, const UpdateArgs& args) {
  ForEachTable(ctx, args, [](TableUpdate& table) {
    RowSums sums(table.dim());
    for (const RowOccurrence& o : table.occurrences()) sums.Add(o.row, table.GradientOf(o));
    sums.Apply(table);
  });
}

const RegisterVariant<UpdateArgs> kRegistered(
    {.name = "batch_order",
     .about = "gradients in the order of the batch, added to sums of their rows",
     .takes = kTakesAll},
    UpdateInBatchOrder);

}  // namespace
}  // namespace tessera::bench
