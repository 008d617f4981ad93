#include "bench/lab/lookup_plain.h"

#include <algorithm>

namespace tessera::bench {
namespace {

void SumBag(const LookupFeature& f, IndexArray offsets, int64_t bag) {
  float* out = f.OutputAt<float>(bag);
  std::fill_n(out, f.dim, 0.0f);
  for (int64_t i = offsets[f.first_bag + bag]; i < offsets[f.first_bag + bag + 1]; ++i) {
    if (!IsRow(f.ids[i], f.num_rows)) continue;
    const float* row = f.RowAt<float>(f.ids[i]);
    for (int64_t d = 0; d < f.dim; ++d) out[d] += row[d];
  }
}

}  // namespace

void LookupPlain(Context& ctx, const LookupArgs& args) {
  for (const LookupFeature& f : args.features)
    ParallelFor(ctx, f.num_bags, 256, [&](int64_t begin, int64_t end) {
      for (int64_t bag = begin; bag < end; ++bag) SumBag(f, args.offsets, bag);
    });
}

}  // namespace tessera::bench
