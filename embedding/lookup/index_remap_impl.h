#ifndef TESSERA_EMBEDDING_LOOKUP_INDEX_REMAP_IMPL_H_
#define TESSERA_EMBEDDING_LOOKUP_INDEX_REMAP_IMPL_H_
// The function of one id that both devices run for index_remap.h.
#include <span>

#include "embedding/lookup/index_remap.h"

namespace tessera::internal {

struct RemappedFeature {
  int64_t count;
  IndexArray ids;
  void* out;  // of the type of the ids
  int64_t first;
  RemapView remap;
};

struct RemapId {
  TESSERA_HD void operator()(const RemappedFeature& f, int64_t item) const {
    const int64_t i = f.first + item, row = f.remap.RowOf(f.ids[i]);
    if (f.ids.wide)
      static_cast<int64_t*>(f.out)[i] = row;
    else
      static_cast<int32_t*>(f.out)[i] = static_cast<int32_t>(row);
  }
};

void RemapFeatures(OnCpu, Context& ctx, std::span<const RemappedFeature> features);
void RemapFeatures(OnCuda, Context& ctx, std::span<const RemappedFeature> features);

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_LOOKUP_INDEX_REMAP_IMPL_H_
