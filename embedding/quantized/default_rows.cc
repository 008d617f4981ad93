#include "embedding/quantized/default_rows.h"

#include <limits>

#include "embedding/lookup/feature_items.h"
#include "embedding/quantized/default_rows_impl.h"
#include "runtime/device/dispatch.h"

namespace tessera::internal {

void DefaultFeatures(OnCpu on, Context& ctx, std::span<const DefaultedFeature> features) {
  ForEachItem(on, ctx, features, 1 << 13, RowOrDefault{});
}

std::vector<Tensor> RowsOrDefault(Context& ctx, std::span<const DefaultedIds> features) {
  std::vector<Tensor> result;
  std::vector<DefaultedFeature> items;
  for (const DefaultedIds& f : features) {
    const bool wide = f.ids.dtype() == DType::kI64;
    TESSERA_CHECK(wide || f.rows < std::numeric_limits<int32_t>::max(),
                  "default row {} is not named by ids of 32 bits", f.rows);
    // Only this feature's range is written; the rest of the memory is never touched and costs
    // nothing.
    const Tensor out = Tensor::Empty(ctx, f.ids.shape(), f.ids.dtype());
    result.push_back(out);
    items.push_back({f.end - f.begin,
                     {f.ids.raw_data(), wide},
                     out.raw_data(),
                     f.begin,
                     f.rows,
                     f.remap != nullptr,
                     f.remap != nullptr ? f.remap->view() : RemapView{}});
  }
  if (items.empty()) return result;
  DispatchDevice(ctx.device(), [&](auto on) { DefaultFeatures(on, ctx, items); });
  return result;
}

}  // namespace tessera::internal
