#include "embedding/lookup/feature_ids.h"

#include <algorithm>

#include "embedding/lookup/index_remap.h"
#include "runtime/device/scratch_pool.h"

namespace tessera::internal {

std::vector<Tensor> ReadIds(Context& ctx, BoundsCheckMode mode, const KeyedJaggedTensor& kjt,
                            std::span<const ReadFeature> features, const BoundsCheckLog& findings) {
  kjt.FindTotals(ctx);
  ScratchVector<CheckedIds> checked;
  checked.reserve(features.size());
  for (const ReadFeature& f : features)
    checked.push_back(
        {kjt.offset_per_key()[f.key], kjt.offset_per_key()[f.key + 1],
         f.table->index_remap ? f.table->index_remap->original_rows() : f.table->num_embeddings,
         f.name, kjt.lengths_offset_per_key()[f.key], kjt.stride_per_key()[f.key],
         f.table->bounds_check});
  std::vector<Tensor> ids = CheckIds(ctx, mode, kjt.values(), kjt.offsets(ctx), checked, findings);
  const auto is_remapped = [](const ReadFeature& f) { return f.table->index_remap != nullptr; };
  if (std::none_of(features.begin(), features.end(), is_remapped)) return ids;
  std::vector<RemappedIds> remapped;
  for (size_t f = 0; f < ids.size(); ++f)
    remapped.push_back(
        {ids[f], checked[f].begin, checked[f].end, features[f].table->index_remap.get()});
  return RemapIds(ctx, remapped);
}

}  // namespace tessera::internal
