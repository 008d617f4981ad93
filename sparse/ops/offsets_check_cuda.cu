// The device finds the totals, and whether anything is wrong; the host's check then says what it
// is.
#include "runtime/launch.cuh"
#include "runtime/tensor.h"
#include "sparse/ops/offsets_check_impl.h"
#include "sparse/ops/segments_impl.h"

namespace tessera::internal {
namespace {

struct TakeOffset {
  const int64_t *offsets, *places;
  int64_t* taken;
  TESSERA_HD void operator()(int64_t g) const { taken[g] = offsets[places[g]]; }
};

struct FindDisagreement {
  const int64_t *lengths, *offsets;
  int64_t* broken;
  TESSERA_HD void operator()(int64_t i) const {
    if (lengths[i] != offsets[i + 1] - offsets[i]) *broken = 1;
  }
};

}  // namespace

std::vector<int64_t> CheckedTotals(OnCuda on, Context& ctx, const OffsetsCheckArgs& args) {
  const Tensor offsets = args.offsets.defined()
                             ? args.offsets.To(ctx, DType::kI64)
                             : OffsetsOfRows(on, ctx, args.lengths, args.lengths.dim(0));
  const auto ends = static_cast<int64_t>(args.group_offsets.size());
  const int64_t bags = offsets.dim(0) - 1, *at = offsets.data<int64_t>();
  const Tensor places =
      Tensor::From(ctx, std::vector<int64_t>(args.group_offsets.begin(), args.group_offsets.end()));
  const Tensor found = Tensor::Zeros(ctx, {ends + 1}, DType::kI64);  // the last: what is broken
  int64_t *taken = found.data<int64_t>(), *broken = taken + ends;
  ForEach(ctx, ends, TakeOffset{at, places.data<int64_t>(), taken});
  ForEach(ctx, bags + 1, FindBadOffset{at, bags, args.values, broken});
  if (args.offsets.defined() && args.lengths.defined()) {
    const Tensor lengths = args.lengths.To(ctx, DType::kI64);
    ForEach(ctx, bags, FindDisagreement{lengths.data<int64_t>(), at, broken});
  }
  std::vector<int64_t> totals = found.ToVector<int64_t>();
  if (totals.back() != 0)
    return tessera::CheckedTotals({args.lengths.ToHost(), args.offsets.ToHost(), args.group_offsets,
                                   args.values, args.what, args.name});
  for (size_t g = 0; g + 1 < args.group_offsets.size(); ++g) totals[g] = totals[g + 1] - totals[g];
  totals.resize(args.group_offsets.size() - 1);
  return totals;
}

}  // namespace tessera::internal
