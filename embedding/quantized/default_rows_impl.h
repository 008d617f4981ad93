#ifndef TESSERA_EMBEDDING_QUANTIZED_DEFAULT_ROWS_IMPL_H_
#define TESSERA_EMBEDDING_QUANTIZED_DEFAULT_ROWS_IMPL_H_
// The function of one id that both devices run for default_rows.h.
#include <span>

#include "embedding/lookup/index_remap.h"
#include "runtime/context.h"

namespace tessera::internal {

struct DefaultedFeature {
  int64_t count;
  IndexArray ids;
  void* out;  // of the type of the ids
  int64_t first, rows;
  bool remapped;
  RemapView remap;
};

struct RowOrDefault {
  TESSERA_HD void operator()(const DefaultedFeature& f, int64_t item) const {
    const int64_t i = f.first + item, id = f.ids[i];
    const int64_t found = f.remapped ? f.remap.RowOf(id) : id;
    const int64_t row = id == -1 ? -1 : IsRow(found, f.rows) ? found : f.rows;
    if (f.ids.wide)
      static_cast<int64_t*>(f.out)[i] = row;
    else
      static_cast<int32_t*>(f.out)[i] = static_cast<int32_t>(row);
  }
};

void DefaultFeatures(OnCpu, Context& ctx, std::span<const DefaultedFeature> features);
void DefaultFeatures(OnCuda, Context& ctx, std::span<const DefaultedFeature> features);

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_QUANTIZED_DEFAULT_ROWS_IMPL_H_
