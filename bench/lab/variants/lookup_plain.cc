// The obvious loop, as the compiler makes it: sums in memory, nothing asked for ahead. It takes
// every shape.
#include <algorithm>
#include <vector>

#include "bench/lab/variant.h"
#include "embedding/lookup/lookup.h"
#include "runtime/context.h"

namespace tessera::bench {
namespace {

// Calls fn.operator()<T>() with the C++ type of rows or outputs.
template <typename Fn>
void VisitType(DType type, Fn&& fn) {
  if (type == DType::kF16) return fn.template operator()<Half>();
  if (type == DType::kBF16) return fn.template operator()<BFloat16>();
  fn.template operator()<float>();
}

template <typename Row, typename Out>
void CopyRow(const LookupFeature& f, int64_t id, Out* out) {
  for (int64_t d = 0; d < f.dim; ++d)
    out[d] = IsRow(id, f.num_rows) ? static_cast<Out>(static_cast<float>(f.RowAt<Row>(id)[d]))
                                   : static_cast<Out>(0.0f);
}

template <typename Row, typename Out>
void SumBag(const LookupArgs& args, const LookupFeature& f, int64_t bag, float* sum) {
  const int64_t begin = args.offsets[f.first_bag + bag], end = args.offsets[f.first_bag + bag + 1];
  std::fill_n(sum, f.dim, 0.0f);
  for (int64_t i = begin; i < end; ++i) {
    if (!IsRow(f.ids[i], f.num_rows)) continue;
    const Row* row = f.RowAt<Row>(f.ids[i]);
    const float weight = args.weights != nullptr ? args.weights[i] : 1.0f;
    for (int64_t d = 0; d < f.dim; ++d) sum[d] += weight * static_cast<float>(row[d]);
  }
  const bool mean = f.pooling == PoolingType::kMean && end > begin;
  const float divisor = mean ? static_cast<float>(end - begin) : 1.0f;
  Out* out = f.OutputAt<Out>(bag);
  for (int64_t d = 0; d < f.dim; ++d) out[d] = static_cast<Out>(sum[d] / divisor);
}

template <typename Row, typename Out>
void LookupBags(const LookupArgs& args, const LookupFeature& f, int64_t begin, int64_t end) {
  std::vector<float> sum(static_cast<size_t>(f.dim));
  const int64_t first = args.offsets[f.first_bag];
  for (int64_t bag = begin; bag < end; ++bag) {
    if (f.pooling != PoolingType::kNone) {
      SumBag<Row, Out>(args, f, bag, sum.data());
      continue;
    }
    for (int64_t i = args.offsets[f.first_bag + bag]; i < args.offsets[f.first_bag + bag + 1]; ++i)
      CopyRow<Row>(f, f.ids[i], f.OutputAt<Out>(i - first));
  }
}

void LookupPlain(Context& ctx, const LookupArgs& args) {
  for (const LookupFeature& f : args.features)
    VisitType(f.row_type, [&]<typename Row>() {
      VisitType(f.output_type, [&]<typename Out>() {
        ParallelFor(ctx, f.num_bags, 256,
                    [&](int64_t begin, int64_t end) { LookupBags<Row, Out>(args, f, begin, end); });
      });
    });
}

const RegisterVariant<LookupArgs> kPlain(
    {.name = "plain", .about = "the obvious loop", .takes = kTakesAll}, LookupPlain);

}  // namespace
}  // namespace tessera::bench
