#include "embedding/update/expand_bags.h"

#include "embedding/update/update.h"
#include "runtime/device/scratch_pool.h"
#include "runtime/element_at.h"
#include "sparse/ops/cumsum.h"

namespace tessera::internal {
namespace {

// The lookup by inverse indices: every feature is a table of its distinct rows, every index a bag.
class InverseLookup {
 public:
  // `full` is the output, or the gradient in its place.
  InverseLookup(Context& ctx, std::span<const DistinctBags> features, const Tensor& inverse,
                const Tensor& distinct, const Tensor& full)
      : indices_(inverse.Contiguous(ctx)),
        offsets_(CompleteCumsum(ctx, Tensor::Full(ctx, {inverse.numel()}, 1, DType::kI64))) {
    int64_t column = 0;
    for (const DistinctBags& f : features) {
      features_.push_back({.rows = ElementAt(distinct, f.at),
                           .row_type = distinct.dtype(),
                           .num_rows = f.bags,
                           .dim = f.dim,
                           .ids = {indices_.raw_data(), indices_.dtype() == DType::kI64},
                           .first_bag = f.inverse_row * inverse.dim(1),
                           .num_bags = inverse.dim(1),
                           .pooling = PoolingType::kNone,
                           .output = ElementAt(full, column),
                           .output_type = full.dtype(),
                           .output_stride = full.dim(1)});
      column += f.dim;
    }
  }
  LookupArgs args() const {
    return {features_, {offsets_.raw_data(), true}, nullptr, indices_.numel()};
  }

 private:
  Tensor indices_, offsets_;
  ScratchVector<LookupFeature> features_;
};

}  // namespace

Tensor ExpandBags(Context& ctx, const Tensor& distinct, std::span<const DistinctBags> features,
                  const Tensor& inverse) {
  int64_t columns = 0;
  for (const DistinctBags& f : features) columns += f.dim;
  Tensor full = Tensor::Empty(ctx, {inverse.dim(1), columns}, distinct.dtype());
  Lookup(ctx, InverseLookup(ctx, features, inverse, distinct, full).args());
  return full;
}

// Starts from rows of 0 and adds gradients by SGD of rate −1, which sums all features' gradients in
// one call.
Tensor FoldBags(Context& ctx, const Tensor& grad, std::span<const DistinctBags> features,
                const Tensor& inverse) {
  int64_t elements = 0;
  for (const DistinctBags& f : features) elements += f.bags * f.dim;
  Tensor distinct = Tensor::Zeros(ctx, {elements});
  const InverseLookup lookup(ctx, features, inverse, distinct, grad);
  const AnyRule sum = Sgd{-1.0f};
  ScratchVector<UpdateTable> tables;
  for (const DistinctBags& f : features) {
    UpdateTable table;
    table.weights = ElementAt(distinct, f.at);
    table.num_rows = f.bags;
    table.dim = f.dim;
    table.features = {static_cast<int>(tables.size())};
    table.rule = &sum;
    tables.push_back(table);
  }
  Update(ctx, {lookup.args(), tables, /*step=*/1});
  return distinct;
}

}  // namespace tessera::internal
